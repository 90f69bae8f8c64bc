package import BackstitchCore

/// Up to where the log is compacted, and up to where it may be.
package struct LogBounds {
    private let log: LogReader
    private let meta: MetaReader

    package init(_ reader: TableReader) {
        log = reader.log
        meta = reader.meta
    }

    /// How far the log is compacted.
    package var compaction: CompactionBounds {
        get throws {
            guard let bytes = try meta.value(MetaName.compaction) else {
                return CompactionBounds()
            }
            guard let bounds = CompactionBounds(bytes) else {
                throw StoreError(
                    .damaged,
                    "The note of how far the log is compacted can't be read. Restore the store from "
                        + "a backup.")
            }
            return bounds
        }
    }

    /// The sequence before which every operation is settled or parked.
    package var outboxFloor: UInt64 {
        get throws {
            guard let bytes = try meta.value(MetaName.outboxFloor), bytes.count == 8 else {
                return 0
            }
            return bytes.bigEndian()
        }
    }

    /// The last operation that may be compacted, whatever the policy: what is before it is synced
    /// or parked. The last one of the log stays, so that its number and its time are not given again.
    package var limit: UInt64 {
        get throws { min(try outboxFloor, max(1, try log.head) - 1) }
    }

    /// The last operation that a policy lets go.
    ///
    /// - Complexity: O((log *n*)²), because clocks ascend with sequences. If one was ahead and put
    ///   right, operations from meanwhile count as old if a later one is, or stay.
    package func horizon(_ policy: RetentionPolicy, at milliseconds: Int64) throws -> UInt64 {
        guard let cutoff = policy.cutoff(at: milliseconds) else { return 0 }
        let limit = try self.limit
        guard cutoff < .max else { return limit }
        return try log.lastOperation(before: cutoff, through: limit)
    }
}
