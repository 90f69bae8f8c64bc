import Threading

/// How many bytes of bodies are worked at, because a parsed body takes up to twenty times its size
/// until its request was answered.
///
/// A body of more than the budget has all of it, so that it is alone. Small ones are free: they are as
/// many as there are requests under way.
package final class ParseBudget: Sendable {
    /// Bodies up to this many bytes don't count.
    package static let freeBytes = 32 << 10

    private struct Waiter {
        var bytes: Int
        var work: RequestWork
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var free: Int
        var waiting = FairQueue<Waiter>()
        /// The one whose turn it is, until there is room for it.
        var next: Waiter?
        var isRefusing = false

        /// Takes those for whom there is room.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while true {
                if next == nil, let (client, waiter) = waiting.next() {
                    waiting.charge(waiter.bytes, to: client)
                    next = waiter
                }
                guard let waiter = next, waiter.bytes <= free else { return admitted }
                free -= waiter.bytes
                next = nil
                admitted.append(waiter)
            }
        }
    }

    private let bytesMax: Int
    private let state: Locked<State>

    private let platform: HubPlatform

    init(bytes: Int, _ platform: HubPlatform) {
        (bytesMax, self.platform) = (bytes, platform)
        state = Locked(State(free: bytes))
    }

    /// Runs a closure while a body of so many bytes is worked at.
    ///
    /// - Throws: ``WorkCancelled`` where the hub ends, or the work had to while it waited; or what the closure throws.
    func with<R>(
        bytes: Int, _ work: RequestWork, _ body: () async throws -> R
    ) async throws -> R {
        guard bytes > Self.freeBytes else { return try await body() }
        let bytes = min(bytes, bytesMax)
        let isAdmitted = await withCheckedContinuation { continuation in
            let waiter = Waiter(bytes: bytes, work: work, continuation: continuation)
            let admitted = state.withLock { state -> [Waiter]? in
                guard !state.isRefusing else { return nil }
                state.waiting.add(waiter, of: work.client, isAnonymous: work.isAnonymous)
                return state.admit()
            }
            guard let admitted else { return continuation.resume(returning: false) }
            for waiter in admitted { waiter.continuation.resume(returning: true) }
        }
        guard isAdmitted else { throw WorkCancelled() }
        defer { release(bytes) }
        return try await body()
    }

    private func release(_ bytes: Int) {
        if bytes == bytesMax { platform.releaseMemory() }
        let admitted = state.withLock { state in
            state.free += bytes
            return state.admit()
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }

    /// Refuses those whose work has to end, whether or not there gets room for them. Call it now and then.
    func refuseLate() {
        let (late, admitted) = state.withLock { state in
            var late = state.waiting.removeAll { $0.work.hasToEnd }
            if let next = state.next, next.work.hasToEnd {
                late.append(next)
                state.next = nil
            }
            return (late, state.admit())
        }
        for waiter in late { waiter.continuation.resume(returning: false) }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }

    /// Has all wait in vain: the hub ends.
    func refuseAll() {
        let waiting = state.withLock { state in
            state.isRefusing = true
            defer { state.next = nil }
            return state.waiting.removeAll() + (state.next.map { [$0] } ?? [])
        }
        for waiter in waiting { waiter.continuation.resume(returning: false) }
    }
}
