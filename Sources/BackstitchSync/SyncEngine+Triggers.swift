import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Takes a push notification: if it speaks of the engine's zone, a round begins at once, or
    /// another one behind the round that is under way.
    ///
    /// After a failure the round begins when that has been waited for.
    /// - Returns: whether the notification was for this engine.
    @discardableResult
    public func handle(notification: SyncNotification) -> Bool {
        guard
            notification.concerns(
                scope.zone, subscriptionID: scope.subscriptionID,
                containerID: configuration.containerID)
        else { return false }
        hand(.triggered(.notification))
        return true
    }

    /// Takes what the system says of the network.
    ///
    /// Without a network nothing is tried and ``status`` is `offline`; what is saved stays pending.
    /// When it is back, a round begins at once, unless the service had asked for time.
    public func connectivityChanged(isReachable: Bool) { hand(.reachable(isReachable)) }
}
