import Threading

/// What runs after an upload that a record waits for; set once there is an engine to tell.
final class AfterUpload: Sendable {
    private struct State {
        var action: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    func set(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

    func run() { state.withLock(\.action)?() }
}
