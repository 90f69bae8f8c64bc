import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Waits for the next attempt after a failure.
    ///
    /// - Returns: when that is; nil if the engine does not go on by itself.
    func retry(after error: ServiceError) async -> Int64? {
        let wait = backoff.failed(error, random: configuration.clock.random())
        let deadline = RetryDeadline(
            dueMilliseconds: configuration.clock.milliseconds + wait, failures: backoff.failures,
            isAsked: Backoff.askedMilliseconds(error) != nil)
        await setDeadline(deadline)
        setStatus(.backingOff(untilMilliseconds: deadline.dueMilliseconds))
        guard isStarted, !isStopped else { return nil }
        queue.add(.retry, atMilliseconds: deadline.dueMilliseconds)
        return deadline.dueMilliseconds
    }

    /// Lets a started engine ask again after a refusal that lasts: nobody may tell it that the cause
    /// is gone, and nothing may ever be saved again.
    ///
    /// - Returns: when that is; nil if the engine does not go on by itself.
    func retryBlocked(after error: ServiceError) -> Int64? {
        guard isStarted, !isStopped else { return nil }
        let wait = Backoff.askedMilliseconds(error) ?? configuration.blockedRetryMilliseconds
        let due = configuration.clock.milliseconds + max(1, wait)
        queue.add(.retry, atMilliseconds: due)
        return due
    }

    /// Sets the time before which the engine tries nothing by itself, here and in the store.
    private func setDeadline(_ deadline: RetryDeadline) async {
        let isNews = queue.deadline != deadline
        queue.setDeadline(deadline)
        guard isNews else { return }
        do {
            try await change { $0.retry = deadline }
        } catch {
            // A store that fails has failed the round too, and this engine knows the time; only one
            // that is started before that would not wait.
        }
    }

    /// Clears what holds until a round ends well.
    func settle() async {
        let endsPreference = prefersLocal
        guard queue.deadline != nil || endsPreference else { return }
        queue.setDeadline(nil)
        do {
            try await change { state in
                state.retry = nil
                if endsPreference { state.prefersLocal = nil }
            }
        } catch {
            // The next round that ends well does it.
        }
    }

    /// Takes over what the store knows of failures before this engine was made.
    func restoreDeadline() throws {
        guard !hasDeadline else { return }
        let name = zoneName
        let stored = try store.read { try $0.reader.zoneState(name).retry }
        hasDeadline = true
        guard let stored else { return }
        backoff = Backoff(failures: stored.failures)
        queue.setDeadline(stored.bounded(nowMilliseconds: configuration.clock.milliseconds))
    }

    /// Lets the first round wait for the time that a failure asked for.
    ///
    /// - Returns: whether there is such a time, and it has not come.
    func waitsForDeadline() -> Bool {
        guard !isRunning, let deadline = queue.deadline,
            deadline.dueMilliseconds > configuration.clock.milliseconds
        else { return false }
        trigger(.start)
        setStatus(
            queue.isReachable
                ? .backingOff(untilMilliseconds: deadline.dueMilliseconds) : .offline)
        return true
    }
}
