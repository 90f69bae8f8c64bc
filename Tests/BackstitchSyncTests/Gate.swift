import Threading

/// Keeps whoever comes until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var hasCome = false
        var kept: [CheckedContinuation<Void, Never>] = []
        var observers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    func keep() async {
        let observers = state.withLock { state in
            state.hasCome = true
            defer { state.observers = [] }
            return state.observers
        }
        for observer in observers { observer.resume() }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.kept.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Waits until somebody has come.
    func arrival() async {
        await withCheckedContinuation { continuation in
            let hasCome = state.withLock { state in
                if !state.hasCome { state.observers.append(continuation) }
                return state.hasCome
            }
            if hasCome { continuation.resume() }
        }
    }

    func open() {
        let kept = state.withLock { state in
            state.isOpen = true
            defer { state.kept = [] }
            return state.kept
        }
        for continuation in kept { continuation.resume() }
    }
}
