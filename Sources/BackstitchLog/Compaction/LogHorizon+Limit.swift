package import BackstitchCore

/// Up to where the log may be compacted.
extension LogHorizon {
    /// The most records with pending operations that a compaction passes over: it holds their names in
    /// memory.
    private static let pendingRecordsMax = 100_000

    /// The last operation that a compaction may look at, whatever the policy. The last one of the log
    /// stays, so that its number and its time are not given again.
    ///
    /// A compaction keeps pending operations wherever they are. If they are few it passes over them, so
    /// that one waiting record does not keep the settled operations behind it. If they are many it ends
    /// at the outbox's least floor, because it would look at all of them and gain little.
    ///
    /// - Parameter tally: The count of waiting operations; nil takes the one that the last commit stored.
    package func limit(_ tally: OutboxTally? = nil) throws -> UInt64 {
        let last = max(1, try reader.log.head) - 1
        guard try maySync else { return last }
        if let pending = try (tally ?? OutboxCounter(reader).stored)?.pending,
            pending.records <= Self.pendingRecordsMax,
            UInt64(max(0, pending.operations)) <= last / 2
        {
            return last
        }
        return min(last, try outboxFloor)
    }

    /// The last operation that a policy lets go.
    ///
    /// - Complexity: O((log *n*)²), because clocks ascend with sequences. If one was ahead and put
    ///   right, operations from meanwhile count as old if a later one is, or stay.
    package func horizon(
        _ policy: RetentionPolicy, at milliseconds: Int64, tally: OutboxTally? = nil
    ) throws -> UInt64 {
        guard let cutoff = policy.cutoff(at: milliseconds) else { return 0 }
        let limit = try self.limit(tally)
        guard cutoff < .max else { return limit }
        return try reader.log.lastOperation(before: cutoff, through: limit)
    }
}
