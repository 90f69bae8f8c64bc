import Threading

/// What a hub needs beside its files if these are objects of a bucket: threads that may wait for a network,
/// and a list of objects that nothing needs any more.
///
/// Objects are removed outside of transactions, because a bucket may be slow, or away, and records must
/// not wait for it. Their rows are in the storage until they are gone; this list is a hint of what is due.
package final class HubObjects: Sendable {
    /// The most that wait; the rows of others have their turn later.
    static let waitingMax = 1_000

    /// The threads that read and write objects.
    package let pool: WorkPool
    /// What was counted of the bucket.
    let families: @Sendable () -> [MetricFamily]
    private let endRequests: @Sendable () -> Void
    private let state = Locked(State())

    private struct State {
        var keys: Set<HubKey> = []
        var isRunning = false
        /// In milliseconds of the steady clock.
        var pausedUntil = Int64.min
    }

    /// How long nothing is removed after that failed, in milliseconds.
    private static let pauseMilliseconds: Int64 = 30_000

    /// - Parameter endRequests: Has requests to the bucket fail: the hub ends.
    package init(
        _ limits: HubLimits, _ platform: HubPlatform, clock: HubClock,
        families: @escaping @Sendable () -> [MetricFamily],
        endRequests: @escaping @Sendable () -> Void
    ) {
        pool = WorkPool(limits, platform, clock: clock.steadyMilliseconds)
        (self.families, self.endRequests) = (families, endRequests)
    }

    /// Has all fail that waits for the bucket: the hub ends.
    func stop() {
        endRequests()
        pool.stop()
    }

    /// Notes the key of a row whose object can go.
    func note(_ key: HubKey) {
        state.withLock { state in
            if state.keys.count < Self.waitingMax { state.keys.insert(key) }
        }
    }

    /// Gives the caller the noted keys to remove. The result is nil if no key is noted, another caller
    /// removes them, or the last attempt failed a moment ago.
    func begin(now: Int64) -> [HubKey]? {
        state.withLock { state in
            guard !state.isRunning, !state.keys.isEmpty, now >= state.pausedUntil else {
                return nil
            }
            state.isRunning = true
            defer { state.keys = [] }
            return Array(state.keys)
        }
    }

    /// Ends what was begun.
    func end(hasFailed: Bool, now: Int64) {
        state.withLock { state in
            state.isRunning = false
            if hasFailed { state.pausedUntil = now + Self.pauseMilliseconds }
        }
    }

    /// What a hub says that has files in a bucket and is not given it.
    static var bucketMissing: HubError {
        HubError(
            .invalid,
            "Files of this hub are in a bucket. Name it (--bucket), so that they can be served.")
    }
}
