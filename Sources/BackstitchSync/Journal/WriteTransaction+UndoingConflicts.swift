public import BackstitchCore
import BackstitchLog
public import BackstitchStore

extension RecordConflict {
    /// A side of a conflict.
    public enum Side: String, Hashable, Sendable, CaseIterable, Codable {
        /// The version that both sides started from.
        case base
        /// The local version.
        case local
        /// The service's version.
        case server
    }
}

extension WriteTransaction {
    /// Restores the values that a record lost in a conflict, by an ordinary local edit that is
    /// synced like any other.
    ///
    /// Only attributes in which the side differs from the outcome change; later edits of others
    /// stay. If the record did not exist on that side, it is deleted, with its delete rules; if it
    /// existed there and was deleted since, it is inserted again.
    ///
    /// - Parameters:
    ///   - sequence: The conflict's ``Conflict/sequence``.
    ///   - side: The side whose values the record gets. Nil for the lost ones: the local values
    ///     unless they are the outcome, otherwise the service's.
    /// - Returns: whether that changed anything.
    /// - Throws: `notFound` if the journal has no such conflict; `deleteDenied`; `invalidName`
    ///   if another record has the name by now.
    @discardableResult
    public func undoConflict(_ sequence: UInt64, taking side: RecordConflict.Side? = nil) throws
        -> Bool
    {
        try log.undoConflict(sequence, taking: side)
    }
}

extension Store {
    /// Undoes a conflict in a write of its own; see
    /// ``WriteTransaction/undoConflict(_:taking:)``.
    ///
    /// - Parameters:
    ///   - author: As for a write.
    ///   - context: As for a write.
    @discardableResult
    public func undoConflict(
        _ sequence: UInt64, taking side: RecordConflict.Side? = nil, author: String? = nil,
        context: String = ""
    ) async throws -> Bool {
        try await withLogWriter(author: author, context: context) {
            try $0.undoConflict(sequence, taking: side)
        }
    }
}

private typealias Side = RecordConflict.Side

extension LogWriter {
    fileprivate func undoConflict(_ sequence: UInt64, taking side: Side?) throws -> Bool {
        guard let entry = try ConflictJournal(reader: reader).entry(sequence),
            let table = catalog.table(entry.entity)
        else {
            throw StoreError(
                .notFound, "The conflict journal has no entry \(sequence). List them first.")
        }
        let before = head
        let place = RecordPlace(entity: entry.entity, key: entry.key)
        let now = try reader.row(place.entity, place.key).flatMap { try $0.currentFields }
        guard let wanted = entry.report.fields(of: side ?? entry.report.losingSide) else {
            if now != nil { _ = try delete(place.entity, place.key) }
            return head > before
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
            try checkName(place.key, of: place.entity)
        }
        try replace(place.key, table, with: fields.withoutNulls, origin: .local)
        return head > before
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
