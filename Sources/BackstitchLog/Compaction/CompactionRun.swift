import BackstitchCore

/// One pass over the old part of a log, cut into chunks that are committed one by one.
///
/// A value, so that a chunk whose commit fails has not happened.
package struct CompactionRun: Equatable, Sendable {
    /// The first operation that was not looked at.
    package internal(set) var next: UInt64
    /// The last operation to look at.
    package let horizon: UInt64
    /// The first operation that was kept as it is so far; 0 for none.
    var firstKept: UInt64 = 0
    /// The records whose operations were kept. Those behind them are kept too, for a fold that begins
    /// at their baseline would leave out what was kept in between.
    var keptRecords: Set<StoredRecordID> = []
    /// The operations that were looked at, and those of them that are gone.
    package internal(set) var visited = 0
    package internal(set) var removed = 0

    package init(_ bounds: CompactionBounds, horizon: UInt64) {
        next = bounds.start
        self.horizon = horizon
    }

    /// Notes that a record's operations are kept.
    ///
    /// - Parameter first: The first of them; 0 if only its baseline was looked at.
    mutating func keep(_ record: StoredRecordID, from first: UInt64) {
        keptRecords.insert(record)
        if first > 0 { firstKept = firstKept == 0 ? first : min(firstKept, first) }
    }

    package var isDone: Bool { next > horizon }

    /// How far the log is compacted after the chunk that ends at a sequence.
    func bounds(after end: UInt64, _ bounds: CompactionBounds) -> CompactionBounds {
        // What this run did not reach again may hold operations that were kept before.
        let rest: UInt64 =
            end < bounds.through && bounds.firstKept > 0 ? max(bounds.firstKept, end + 1) : 0
        let kept = [firstKept, rest].filter { $0 > 0 }.min() ?? 0 as UInt64
        return CompactionBounds(through: max(bounds.through, end), firstKept: kept)
    }
}

/// The most that one chunk works through; then other writers have their turn.
package struct CompactionBudget: Sendable {
    /// Operations that are read.
    package var operations = 4_096
    /// Bytes of operations and rows that are read and made.
    package var bytes = 4 << 20

    package init() {}

    private init(operations: Int, bytes: Int) {
        (self.operations, self.bytes) = (operations, bytes)
    }

    /// A chunk of half the size, which takes less space until it is committed; nil if this one is
    /// of one operation.
    package var half: CompactionBudget? {
        guard operations > 1 else { return nil }
        return CompactionBudget(operations: operations / 2, bytes: max(1, bytes / 2))
    }

    /// A chunk of twice the size, and no larger than another.
    package func doubled(upTo limit: CompactionBudget) -> CompactionBudget {
        CompactionBudget(
            operations: min(limit.operations, operations * 2), bytes: min(limit.bytes, bytes * 2))
    }
}
