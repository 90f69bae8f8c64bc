public import BackstitchCore
import BackstitchLog

extension Store {
    /// Deletes a record, and takes its values out of everything that the store keeps of it: the log and
    /// with it the history, the conflict journal, indexes, and the views of projections.
    ///
    /// What stays is that there was a record: its name, the times, authors and contexts of its
    /// operations, and its change tag. Copies that a conflict made (`keepBoth`) are records of their
    /// own. The record can't be brought back by undoing or reverting. Views that have not followed the log
    /// to the end are built again.
    ///
    /// **On the service** the record stays unless `deletesOnService` is set: as after an eviction, pulls
    /// don't bring it back until the service has a newer version. With it, the delete is pushed by the next
    /// synchronisation, and delete rules are followed. A record that the service does not know is deleted
    /// by its delete rules in any case. If the reply to its push was lost, a pull may bring it back.
    ///
    /// **In the file** the space that the values took up is free, and is overwritten only when later
    /// writes use it. ``rewriteFile(at:configuration:)`` makes a file without them. Backups and exports
    /// keep what they have.
    ///
    /// - Returns: the number of operations whose values were erased; 0 if they were erased before.
    /// - Throws: `unsynced` if the service knows the record and lacks changes of it; `deleteDenied`;
    ///   `notFound` if the log has no operation of such a record, or if it was evicted and is to be
    ///   deleted on the service. Nothing is changed then.
    /// - Complexity: O(*n*) in the operations of the log, well under a microsecond each; writers wait only
    ///   while the operations of the record are written anew.
    @discardableResult
    public func erase<Model: Entity>(
        _ id: EntityID<Model>, deletesOnService: Bool = false
    ) async throws -> Int {
        let place = StoredRecordID(entity: try types.binding(of: Model.self).number, key: id.key)
        return try await Erasure(place: place, deletesOnService: deletesOnService).run(self)
    }

    /// As ``erase(_:deletesOnService:)``, without the Swift type.
    ///
    /// - Throws: as there, and `unknownEntity`.
    @discardableResult
    public func erase(_ record: RecordID, deletesOnService: Bool = false) async throws -> Int {
        let entity = try read { try $0.reader.table(named: record.entity).number }
        let place = StoredRecordID(entity: entity, key: record.key)
        return try await Erasure(place: place, deletesOnService: deletesOnService).run(self)
    }
}

/// Erases a record of a store.
private struct Erasure {
    let place: StoredRecordID
    let deletesOnService: Bool

    /// - Returns: The number of operations whose values were erased.
    func run(_ store: Store) async throws -> Int {
        // Most of the log is looked through before writers have to wait.
        let known = try store.read { transaction in
            var traces = RecordTraces(of: place)
            try traces.search(transaction.reader)
            return traces
        }
        return try await store.withWriteContext { context in
            let log = context.log
            var traces = known
            try endRecord(log)
            try traces.search(log.reader)
            guard traces.isKnown else {
                throw StoreError(
                    .notFound,
                    "The log has no operation of a record \(place.key) of this entity. Names of UUIDs "
                        + "are in upper case.")
            }
            guard !traces.sequences.isEmpty else { return 0 }
            try context.projections.reset(before: traces.last)
            try RecordEraser(log).erase(traces)
            return traces.sequences.count
        }
    }

    /// Ends the record, if it is there.
    ///
    /// - Throws: `unsynced` if the service lacks changes that would not be told from the service's own
    ///   without their values.
    private func endRecord(_ log: LogWriter) throws {
        guard let row = try log.row(place.entity, place.key) else { return }
        guard try !row.hasChangeTag || !row.isDirty || hasOnlyDeleteUnsynced(row, log) else {
            throw StoreError(
                .unsynced,
                "The record \(place.key) can't be erased: the service does not have all of its changes. "
                    + "Synchronise or revert them first.")
        }
        guard !deletesOnService || !row.flags.contains(.isEvicted) else {
            throw StoreError(
                .notFound,
                "The record \(place.key) is not on this device, and so can't be deleted on the service. "
                    + "Fetch it again first, or erase it here alone.")
        }
        guard !row.isDeleted else { return }
        if row.hasChangeTag, !deletesOnService {
            _ = try log.evict(place.entity, place.key)
        } else {
            _ = try log.delete(place.entity, place.key)
        }
    }

    private func hasOnlyDeleteUnsynced(_ row: RowView, _ log: LogWriter) throws -> Bool {
        row.isDeleted ? try log.reader.history(of: row).unsyncedCount == 1 : false
    }
}
