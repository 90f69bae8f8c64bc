import BackstitchCore
import BackstitchLog
import BackstitchStore

/// A record with unsynced edits.
private struct EditedRecord {
    let place: StoredRecordID
    let ends: UnsyncedEnds
    /// Whether the service was never known to have the record, or lost it.
    let isUnknownToService: Bool

    /// Nil if there is nothing to revert.
    init?(of row: RowView, _ place: StoredRecordID, _ reader: TableReader) throws {
        // A record that the service lost and that was not edited since has no edits to give up.
        guard row.isDirty, !row.flags.contains(.isForgotten),
            try !reader.history(of: row).endsErased
        else { return nil }
        self.place = place
        ends = try UnsyncedEnds(reader, of: row)
        isUnknownToService = row.syncedSequence == 0 && !row.hasChangeTag
    }
}

/// Gives up unsynced edits within a write.
struct Revert {
    private let log: LogWriter
    private var reader: TableReader { log.reader }

    init(_ log: LogWriter) { self.log = log }

    /// Gives up the edits of a record.
    ///
    /// - Returns: whether there were any.
    func revert(_ place: StoredRecordID) throws -> Bool {
        guard let row = try reader.row(place.entity, place.key),
            let revert = try EditedRecord(of: row, place, reader)
        else { return false }
        try perform([revert])
        return true
    }

    /// Gives up all edits.
    ///
    /// - Returns: the number of records that had any.
    func revertAll() throws -> Int {
        var reverts: [EditedRecord] = []
        for table in log.catalog.tables {
            try unsafe reader.visitStoredRows(of: table.number) { bytes, row in
                guard let key = unsafe RecordKey(reading: bytes) else { return true }
                let place = StoredRecordID(entity: table.number, key: key)
                if let revert = try EditedRecord(of: row, place, reader) { reverts.append(revert) }
                return true
            }
        }
        // What vanishes goes first, and with it names that others get back.
        try perform(
            reverts.filter { $0.ends.base == nil } + reverts.filter { $0.ends.base != nil })
        return reverts.count
    }

    private func perform(_ reverts: [EditedRecord]) throws {
        try checkNoneIsForgotten(reverts)
        for revert in reverts {
            let (entity, key) = (revert.place.entity, revert.place.key)
            guard let table = log.catalog.table(entity), let row = try reader.row(entity, key)
            else {
                continue
            }
            if row.isDeleted, revert.ends.base != nil { try log.checkName(key, of: entity) }
            try Discard(log).discard(revert.ends, of: row, key, table)
        }
    }

    /// Refuses to revert records that the service had and lost: what it had can't be told from edits
    /// any more.
    private func checkNoneIsForgotten(_ reverts: [EditedRecord]) throws {
        let doubtful = reverts.filter(\.isUnknownToService)
        guard let first = doubtful.map(\.ends.firstSequence).min() else { return }
        var forgotten: [StoredRecordID: UInt64] = [:]
        try reader.log.visit(from: first) { operation in
            guard operation.kind == .forget else { return true }
            let place = StoredRecordID(entity: operation.entity, key: try operation.key)
            forgotten[place] = operation.sequence
            return true
        }
        let lost = doubtful.filter { (forgotten[$0.place] ?? 0) > $0.ends.firstSequence }
        guard let place = lost.first?.place else { return }
        throw StoreError(
            .busy,
            "The service lost the zone of \(lost.count) edited records, \(place.key) among them, and "
                + "they wait to be pushed again. Sync first, then revert.")
    }
}
