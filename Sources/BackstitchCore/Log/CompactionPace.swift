/// Decides how much of the log each commit compacts.
///
/// Commits pay for compaction as they go: every operation that is appended earns the right to work
/// through ``operationsPerOperation`` old ones. So the share of compaction is bounded, it needs no
/// thread and no timer, and a store without writes does nothing.
package struct CompactionPace: Equatable, Sendable {
    /// How far the log may be compacted, and how much of it there is.
    package struct Extent: Equatable, Sendable {
        /// The number of operations in the log.
        package var operations: Int
        /// The last operation that was compacted.
        package var compactedThrough: UInt64
        /// The last operation that may be.
        package var limit: UInt64

        package init(operations: Int, compactedThrough: UInt64, limit: UInt64) {
            self.operations = operations
            self.compactedThrough = compactedThrough
            self.limit = limit
        }
    }

    /// The fewest operations that are worth a run.
    package static let operationsMin = 4_096
    /// The operations that a commit works through at least, once it works at all.
    package static let operationsPerChunk = 512
    /// The operations that a small commit works through at most.
    package static let operationsPerCommit = 2_048
    /// The old operations that one new operation pays for.
    package static let operationsPerOperation = 2
    /// After a look at the log that found too little, none is taken for so long.
    package static let restMilliseconds: Int64 = 60_000

    private var credit = 0
    private var restsUntil = Int64.min

    package init() {}

    /// Notes a commit.
    ///
    /// - Returns: how many old operations it may work through; 0 for none.
    package mutating func budget(afterCommitOf operations: Int) -> Int {
        // More than this can't be used up soon, and is not owed.
        let creditMax = 4 * max(Self.operationsPerCommit, operations)
        credit = min(creditMax, credit + Self.operationsPerOperation * operations)
        guard credit >= Self.operationsPerChunk else { return 0 }
        return min(credit, max(Self.operationsPerCommit, operations))
    }

    /// Notes that old operations were worked through.
    package mutating func spend(_ operations: Int) { credit = max(0, credit - operations) }

    /// Whether it is time to begin a run: as much may go as half of the log, so that the cost of
    /// runs stays in proportion to what is written.
    package func isDue(_ extent: Extent, at milliseconds: Int64) -> Bool {
        guard milliseconds >= restsUntil || restsUntil - milliseconds > Self.restMilliseconds else {
            return false
        }
        guard extent.limit > extent.compactedThrough else { return false }
        let candidates = extent.limit - extent.compactedThrough
        return candidates >= UInt64(max(Self.operationsMin, extent.operations / 2))
    }

    /// Notes that there was nothing worth a run.
    package mutating func rest(at milliseconds: Int64) {
        let (end, isTooLate) = milliseconds.addingReportingOverflow(Self.restMilliseconds)
        restsUntil = isTooLate ? .max : end
    }
}
