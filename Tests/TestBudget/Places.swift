import Threading

/// A number of places. Who wants some waits until they are free, without holding a thread.
///
/// Who is urgent is served first, then who wants most, and among equals who came first. While one waits,
/// nobody who came later and wants less overtakes: so each gets its places.
package final class Places: Sendable {
    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var free: Int
        var waiters: [Waiter] = []
    }

    private let total: Int
    private let state: Locked<State>

    /// Makes places that are all free.
    package init(_ total: Int) {
        self.total = total
        state = Locked(State(free: total))
    }

    /// Runs a closure while it has places.
    ///
    /// - Parameters:
    ///   - count: The number of places; all of them if there are fewer.
    ///   - isUrgent: Whether to serve this one before all that wait, since others wait for its end
    ///     elsewhere.
    package func withPlaces<Result>(
        _ count: Int = 1, isUrgent: Bool = false, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let count = min(count, total)
        await take(count, isUrgent)
        defer { give(count) }
        return try await body()
    }

    private func take(_ count: Int, _ isUrgent: Bool) async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.waiters.isEmpty, state.free >= count else {
                    let index = isUrgent ? 0 : state.waiters.firstIndex { $0.count < count }
                    state.waiters.insert(
                        Waiter(count: count, continuation: continuation),
                        at: index ?? state.waiters.endIndex)
                    return false
                }
                state.free -= count
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func give(_ count: Int) {
        let served = state.withLock { state in
            state.free += count
            var served: [Waiter] = []
            while let first = state.waiters.first, first.count <= state.free {
                state.free -= first.count
                served.append(state.waiters.removeFirst())
            }
            return served
        }
        for waiter in served { waiter.continuation.resume() }
    }
}
