import BackstitchCore
import LMDB

/// Counts what the store has and what waits to be pushed: by the stored tally, or by the tables.
package struct OutboxCounter {
    private let reader: TableReader

    package init(_ reader: TableReader) {
        self.reader = reader
    }

    /// The stored tally, complete or not; one that is still to be made if there is none, or if
    /// a program has written that does not keep it up, or that counts as the store did before it was
    /// opened with another ``LogHorizon/maySync``.
    package func counting(at head: UInt64) throws -> OutboxCounting {
        let countsRecords = try !LogHorizon(reader).maySync
        guard
            let counting = try reader.meta.value(MetaName.outboxCounts)
                .flatMap(OutboxCounting.init), counting.sequence == head,
            counting.countsRecords == countsRecords
        else { return .begun(at: head, countsRecords: countsRecords) }
        return counting
    }

    /// The stored tally of the moment that is read; nil if there is none.
    package var stored: OutboxTally? {
        get throws {
            let counting = try counting(at: reader.log.head)
            return counting.isComplete ? counting.tally : nil
        }
    }

    /// The tally at the moment that is read: the stored one, or one that is made now.
    package var tally: OutboxTally {
        get throws {
            var counting = try counting(at: reader.log.head)
            try goOn(&counting, budget: .max)
            return counting.tally
        }
    }

    /// Goes on with a tally that is being made.
    ///
    /// - Parameters:
    ///   - budget: The rows, operations and journal entries after which it stops; a row is counted
    ///     with all its operations.
    ///   - end: The key behind which nothing is counted; nil for all.
    package func goOn(
        _ counting: inout OutboxCounting, budget: Int, through end: [UInt8]? = nil
    ) throws {
        guard let position = counting.position else { return }
        var found = counting
        var work = 0
        for table in [TableKey.rows, TableKey.journal] where position.first ?? 0 <= table {
            let entries = TableEntries(reader, startingWith: [table])
            try unsafe entries.visit(from: position.first == table ? position : nil) {
                key, value in
                // The last one that was counted.
                if unsafe key.holdsSameBytes(as: position) { return true }
                if let end, unsafe key.order(end) > 0 { return false }
                unsafe work += try count(key, value, &found)
                guard work >= budget else { return true }
                found.position = unsafe Array(key)
                return false
            }
            if work >= budget {
                counting = found
                return
            }
        }
        found.position = nil
        counting = found
    }

    /// Counts a row or a journal entry.
    ///
    /// - Returns: how many entries and operations it looked at.
    private func count(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        _ counting: inout OutboxCounting
    ) throws -> Int {
        guard unsafe key.first == TableKey.rows else {
            counting.tally.conflicts += 1
            return 1
        }
        guard key.count > TableKey.rowPrefixByteCount, let row = unsafe RowView(value),
            unsafe row.isIntact(at: key)
        else { throw StoreError.damagedRow }
        let entity = unsafe TableKey.entity(of: key)
        let slot = unsafe key[TableKey.rowPrefixByteCount]
        counting.tally.add(1, rowWith: row.flags, of: entity, in: slot)
        guard row.isDirty else { return 1 }
        let operations = try counting.countsRecords ? 1 : reader.history(of: row).unsyncedCount
        counting.tally.add(
            records: 1, operations: operations, isParked: row.flags.contains(.isParked),
            of: entity, in: slot)
        return 1 + operations
    }
}
