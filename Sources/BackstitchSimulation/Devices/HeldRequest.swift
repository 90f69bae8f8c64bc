import Threading

/// A request that is kept under way until it is let through.
final class HeldRequest: Sendable {
    private struct State {
        /// Whether the request has come, or never will.
        var hasCome: Bool?
        var isOpen = false
        var request: CheckedContinuation<Void, Never>?
        var observer: CheckedContinuation<Bool, Never>?
    }

    private let state = Locked(State())

    /// Keeps the request that calls this, until ``open()``.
    func hold() async {
        come(true)
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.request = continuation }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Notes that the call is over; a request that has not come will not.
    func callEnded() { come(false) }

    private func come(_ hasCome: Bool) {
        state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.hasCome == nil else { return nil }
            state.hasCome = hasCome
            let observer = state.observer
            state.observer = nil
            return observer
        }?.resume(returning: hasCome)
    }

    /// Waits for the request.
    ///
    /// - Returns: whether it has come and is held; false if the call ended without it.
    func arrival() async -> Bool {
        await withCheckedContinuation { continuation in
            let hasCome = state.withLock { state in
                if state.hasCome == nil { state.observer = continuation }
                return state.hasCome
            }
            if let hasCome { continuation.resume(returning: hasCome) }
        }
    }

    /// Lets the request through, also one that comes later.
    func open() {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isOpen = true
            let request = state.request
            state.request = nil
            return request
        }?.resume()
    }
}
