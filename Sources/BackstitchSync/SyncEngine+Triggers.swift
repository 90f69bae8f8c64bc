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
                zone, subscriptionID: subscriptionID,
                containerID: configuration.containerID)
        else { return false }
        trigger(.notification)
        return true
    }

    /// Takes what the system says of the network.
    ///
    /// Without a network nothing is tried and ``status`` is `offline`; what is saved stays pending.
    /// When it is back, a round begins at once, unless the service had asked for time.
    public func connectivityChanged(isReachable: Bool) {
        guard !isStopped else { return }
        let now = configuration.clock.milliseconds
        guard queue.setReachable(isReachable, nowMilliseconds: now) else { return }
        // A round that is under way finds out by itself.
        if !isRunning { setStatus(isReachable ? .idle : .offline) }
        arm()
    }

    func trigger(_ trigger: SyncTrigger) {
        guard !isStopped else { return }
        queue.add(trigger, nowMilliseconds: configuration.clock.milliseconds)
        arm()
    }

    func listenToWrites() {
        guard listener == nil, configuration.syncOnSave else { return }
        let changes = store.changes()
        listener = Task { [weak self] in
            for await change in changes where change.origins.contains(.local) {
                await self?.trigger(.save)
            }
        }
    }

    // MARK: The timer

    /// Waits for the next round that is due, and for that alone.
    func arm() {
        guard !isStopped, let next = queue.next else { return disarm() }
        guard timer?.dueMilliseconds != next.dueMilliseconds else { return }
        disarm()
        let clock = configuration.clock
        let due = next.dueMilliseconds
        let wait = max(0, due - clock.milliseconds)
        timer = RoundTimer(
            dueMilliseconds: due,
            task: Task { [weak self] in
                do {
                    try await clock.sleep(milliseconds: wait)
                } catch {
                    return
                }
                await self?.fire(dueMilliseconds: due)
            })
    }

    func disarm() {
        timer?.task.cancel()
        timer = nil
    }

    private func fire(dueMilliseconds due: Int64) async {
        // A timer that was replaced may have slept through its cancellation.
        guard timer?.dueMilliseconds == due, let next = queue.next else { return }
        timer = nil
        do {
            _ = try await run(next.trigger)
        } catch {
            // Reported as an event, and tried again if that helps.
        }
    }
}
