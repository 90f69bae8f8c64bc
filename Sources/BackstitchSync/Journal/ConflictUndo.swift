import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Restores what a record lost in a conflict, within a write.
struct ConflictUndo {
    private let log: LogWriter

    init(_ log: LogWriter) { self.log = log }

    /// Gives a record the values of a side of a conflict.
    ///
    /// - Parameter side: Nil for the side that lost.
    /// - Returns: whether that changed anything.
    func undo(_ sequence: UInt64, taking side: RecordConflict.Side?) throws -> Bool {
        guard let entry = try ConflictJournal(reader: log.reader).entry(sequence),
            let table = log.catalog.table(entry.entity)
        else {
            throw StoreError(
                .notFound, "The conflict journal has no entry \(sequence). List them first.")
        }
        let before = log.head
        let place = StoredRecordID(entity: entry.entity, key: entry.key)
        let now = try log.reader.row(place.entity, place.key).flatMap { try $0.currentFields }
        guard let wanted = entry.report.fields(of: side ?? entry.report.losingSide) else {
            if now != nil { _ = try log.delete(place.entity, place.key) }
            return log.head > before
        }
        var fields = wanted.only(table.declaredFields)
        if let now {
            let outcome = entry.report.outcome ?? Fields()
            fields = now
            for field in wanted.differences(from: outcome)
            where table.declaredFields.contains(field) {
                fields[field] = wanted.value(field)
            }
        } else {
            try log.checkName(place.key, of: place.entity)
        }
        try log.replace(place.key, table, with: fields.withoutNulls, origin: .local)
        return log.head > before
    }
}

extension ConflictReport {
    fileprivate func fields(of side: RecordConflict.Side) -> Fields? {
        switch side {
        case .base: base
        case .local: local
        case .server: server
        }
    }

    /// The side that is not what came of it.
    fileprivate var losingSide: RecordConflict.Side { local == outcome ? .server : .local }
}
