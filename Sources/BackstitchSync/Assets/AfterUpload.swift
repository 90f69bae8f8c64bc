import Threading

/// What runs after an upload that a record waits for; set once there is an engine to tell.
final class AfterUpload: Sendable {
    private let action = Locked<(@Sendable () -> Void)?>(nil)

    func set(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

    func run() { action.withLock { $0 }?() }
}
