import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Handles a push notification. If it is about the engine's zone, a round begins at once, or
    /// after the current round.
    ///
    /// After a failure the round begins when the wait is over.
    /// - Returns: whether the notification was for this engine.
    @discardableResult
    public func handle(notification: SyncNotification) -> Bool {
        guard scope.isConcerned(by: notification) else { return false }
        hand(.triggered(.notification))
        return true
    }

    /// Tells the engine whether the network is reachable.
    ///
    /// Without a network nothing is tried and ``status`` is `offline`; saves stay pending. When the
    /// network is back, a round begins at once, unless the service had asked the engine to wait.
    public func connectivityChanged(isReachable: Bool) { hand(.reachable(isReachable)) }
}
