import BackstitchCore
package import BackstitchLog

extension StoreInfo {
    /// The number of records and operations that wait, by reason.
    public struct Outbox: Hashable, Sendable {
        /// Records with operations that are to be pushed.
        public internal(set) var pendingRecords = 0
        /// Operations that are to be pushed; in a store that never syncs, one for each record.
        public internal(set) var pendingOperations = 0
        /// Records whose operations are parked.
        public internal(set) var parkedRecords = 0
        /// Operations that are parked. With ``pendingOperations`` they are all that the service does not
        /// have.
        public internal(set) var parkedOperations = 0
        /// Records with operations that the engine's selection holds back.
        public internal(set) var heldBackRecords = 0
        /// Records that were not checked against the selection's predicates, because too many
        /// operations wait: they are pending or held back, and counted as neither. 0 without
        /// predicates, and if fewer than ``examinedMax`` operations follow the outbox's floor.
        public internal(set) var unexaminedRecords = 0
        /// Conflicts in the journal.
        public internal(set) var conflicts = 0

        /// The most operations that are looked at to tell what a selection's predicates hold back.
        public static let examinedMax = 5_000
    }
}

extension StoreInfo.Outbox {
    /// Counts what waits: reads what every commit keeps up, and counts all rows if a program has
    /// written that does not.
    ///
    /// Of entities that the selection narrows by a predicate it looks at operations from the outbox's
    /// floor on, ``StoreInfo.Outbox/examinedMax`` at most.
    /// - Parameter fromStart: Whether operations before the outbox's floor may be selected too.
    package init(
        _ reader: TableReader, selection: BoundSelection = BoundSelection(),
        fromStart: Bool = false
    ) throws {
        let tally = try OutboxCounter(reader).tally
        conflicts = tally.conflicts
        var narrowedRecords = 0
        for (entity, found) in tally.entities {
            parkedRecords += found.parkedRecords
            parkedOperations += found.parkedOperations
            if selection.excluded.contains(entity) {
                heldBackRecords += found.pendingRecords
            } else if selection.filters[entity] != nil {
                narrowedRecords += found.pendingRecords
            } else {
                pendingRecords += found.pendingRecords
                pendingOperations += found.pendingOperations
            }
        }
        if narrowedRecords > 0 {
            try addNarrowed(
                narrowedRecords, by: selection,
                from: fromStart ? 1 : LogHorizon(reader).outboxFloor + 1, reader
            )
        }
    }

    /// Tells pending records from those that are held back, of entities with a predicate.
    ///
    /// - Parameter total: How many of their records have operations and are not parked.
    private mutating func addNarrowed(
        _ total: Int, by selection: BoundSelection, from first: UInt64, _ reader: TableReader
    ) throws {
        var seen: Set<StoredRecordID> = []
        var (pending, operations, heldBack) = (0, 0, 0)
        var examined = 0
        try reader.log.visit(from: first) { operation in
            guard examined < Self.examinedMax, seen.count < total else { return false }
            examined += 1
            guard operation.kind.changesContent, selection.filters[operation.entity] != nil,
                let row = try unsafe reader.row(operation.entity, keyBytes: operation.keyBytes),
                row.isDirty,
                !row.flags.contains(.isParked)
            else { return true }
            let place = StoredRecordID(entity: operation.entity, key: try operation.key)
            guard seen.insert(place).inserted else { return true }
            if try selection.holdsBack(place, row, reader) {
                heldBack += 1
            } else {
                let count = try reader.history(of: row).unsyncedCount
                pending += 1
                operations += count
                examined += count
            }
            return true
        }
        pendingRecords += pending
        pendingOperations += operations
        // Whatever is to be pushed has an operation behind the floor.
        if examined < Self.examinedMax { heldBack = total - pending }
        heldBackRecords += heldBack
        unexaminedRecords = total - pending - heldBack
    }
}
