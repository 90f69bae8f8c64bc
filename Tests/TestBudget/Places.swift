import Threading

/// A number of places. Who wants some waits until they are free, without holding a thread.
///
/// Who wants most is served first, and among equals who came first. While one waits, nobody who came
/// later and wants less overtakes: so each gets its places.
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
    /// - Parameter count: The number of places; all of them if there are fewer.
    package func withPlaces<Result>(
        _ count: Int = 1, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let count = min(count, total)
        await take(count)
        defer { give(count) }
        return try await body()
    }

    private func take(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.waiters.isEmpty, state.free >= count else {
                    let index = state.waiters.firstIndex { $0.count < count }
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
