package import BackstitchCore
import LMDB

/// How far a log is compacted; kept in the store.
package struct CompactionBounds: Equatable {
    /// Operations up to this sequence may be missing; all later ones are there.
    package var through: UInt64 = 0
    /// The first operation up to there that was kept as it is, because sync needed it; 0 for none.
    package var firstKept: UInt64 = 0

    /// Where the next run begins.
    package var start: UInt64 { firstKept == 0 ? through + 1 : firstKept }

    package init(through: UInt64 = 0, firstKept: UInt64 = 0) {
        self.through = through
        self.firstKept = firstKept
    }

    /// Reads the stored form: both sequences, 8 bytes each, big-endian.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (through, firstKept) = bytes.withUnsafeBytes { bytes in
            (bytes.part(0..<8).sequence, bytes.part(8..<16).sequence)
        }
        guard through < .max, firstKept <= through else { return nil }
    }

    package var bytes: [UInt8] {
        [through, firstKept].flatMap { number in
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }
    }
}

extension TableReader {
    /// How far the log is compacted.
    package var compaction: CompactionBounds {
        get throws {
            guard let bytes = try meta(MetaName.compaction) else { return CompactionBounds() }
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
            guard let bytes = try meta(MetaName.outboxFloor), bytes.count == 8 else { return 0 }
            return bytes.withUnsafeBytes { $0.sequence }
        }
    }

    /// The last operation that may be compacted, whatever the policy: what is behind it is synced
    /// or parked. The last one of the log stays, so that its number and its time are not given again.
    package var compactionLimit: UInt64 {
        get throws { min(try outboxFloor, max(1, try head) - 1) }
    }

    /// The last operation that a policy lets go.
    ///
    /// - Complexity: O((log *n*)²), because clocks ascend with sequences. If one was ahead and put
    ///   right, operations from meanwhile count as old if a later one is, or stay.
    package func compactionHorizon(
        _ policy: RetentionPolicy, at milliseconds: Int64
    ) throws -> UInt64 {
        guard let cutoff = policy.cutoff(at: milliseconds) else { return 0 }
        let limit = try compactionLimit
        guard cutoff < .max else { return limit }
        return try lastOperation(before: cutoff, through: limit)
    }

    /// The last operation from before a moment; 0 if there is none.
    ///
    /// - Parameters:
    ///   - milliseconds: The moment, since 1970.
    ///   - limit: The last operation that counts.
    /// - Complexity: O((log *n*)²), because clocks ascend with sequences.
    package func lastOperation(
        before milliseconds: Int64, through limit: UInt64
    ) throws -> UInt64 {
        var low: UInt64 = 0
        var high = limit
        while low < high {
            let middle = high - (high - low) / 2
            if try isOlder(firstFrom: middle, than: milliseconds) {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return low
    }

    /// Whether the first operation at or behind a sequence is from before a moment.
    private func isOlder(firstFrom sequence: UInt64, than cutoff: Int64) throws -> Bool {
        var isOlder = false
        try visitOperations(from: sequence) { operation in
            isOlder = LogicalClock.milliseconds(of: operation.clock) < cutoff
            return false
        }
        return isOlder
    }
}
