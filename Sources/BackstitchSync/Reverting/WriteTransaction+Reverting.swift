public import BackstitchCore
import BackstitchLog
public import BackstitchStore

extension WriteTransaction {
    /// Gives up a record's unsynced edits: it becomes the version that the service is known to
    /// have, and a record that was never synced is removed. Nothing of it is left to push, and the
    /// lost values are in the conflict journal.
    ///
    /// A push that is under way still arrives at the service, and comes back with the reply or the
    /// next pull. Records that refer to a removed one keep its id.
    ///
    /// - Returns: whether there were such edits.
    /// - Throws: `unknownEntity`; `invalidName` if another record took the name of a deleted one
    ///   meanwhile; `busy` if the service lost the record's zone and the record must be pushed
    ///   again first.
    @discardableResult
    public func revert<Model: Entity>(_ id: EntityID<Model>) throws -> Bool {
        try log.revert(
            RecordPlace(entity: try types.binding(of: Model.self).number, key: id.key))
    }

    /// As ``revert(_:)``, without the Swift type.
    @discardableResult
    public func revert(_ record: RecordID) throws -> Bool {
        let entity = try reader.table(named: record.entity).number
        return try log.revert(RecordPlace(entity: entity, key: record.key))
    }

    /// Gives up all unsynced edits; see ``revert(_:)``.
    ///
    /// A store that was never synced is empty afterwards.
    /// - Returns: the number of records that had such edits.
    /// - Complexity: O(*n*) in the records of the store.
    @discardableResult
    public func revertAll() throws -> Int { try log.revertAll() }
}

extension Store {
    /// Gives up a record's unsynced edits, in a write of its own; see
    /// ``WriteTransaction/revert(_:)``.
    @discardableResult
    public func revert<Model: Entity>(_ id: EntityID<Model>) async throws -> Bool {
        try await write { try $0.revert(id) }
    }

    /// Gives up all unsynced edits, in a write of its own; see ``WriteTransaction/revertAll()``.
    @discardableResult
    public func revertAll() async throws -> Int {
        try await write { try $0.revertAll() }
    }
}

/// A record with unsynced edits.
private struct Revert {
    let place: RecordPlace
    let ends: UnsyncedEnds
    /// Whether the service was never known to have the record, or lost it.
    let isUnknownToService: Bool
}

extension LogWriter {
    fileprivate func revert(_ place: RecordPlace) throws -> Bool {
        guard let row = try reader.row(place.entity, place.key),
            let revert = try reader.revert(of: row, place)
        else { return false }
        try perform([revert])
        return true
    }

    fileprivate func revertAll() throws -> Int {
        var reverts: [Revert] = []
        for table in catalog.tables {
            try reader.visitStoredRows(of: table.number) { bytes, row in
                guard let key = RecordKey(reading: bytes) else { return true }
                let place = RecordPlace(entity: table.number, key: key)
                if let revert = try reader.revert(of: row, place) { reverts.append(revert) }
                return true
            }
        }
        // What vanishes goes first, and with it names that others get back.
        try perform(
            reverts.filter { $0.ends.base == nil } + reverts.filter { $0.ends.base != nil })
        return reverts.count
    }

    private func perform(_ reverts: [Revert]) throws {
        try checkNoneIsForgotten(reverts)
        for revert in reverts {
            let (entity, key) = (revert.place.entity, revert.place.key)
            guard let table = catalog.table(entity), let row = try reader.row(entity, key) else {
                continue
            }
            if row.isDeleted, revert.ends.base != nil { try checkName(key, of: entity) }
            try EditDiscard(self).discard(revert.ends, of: row, key, table)
        }
    }

    /// Refuses to revert records that the service had and lost: what it had can't be told from edits
    /// any more.
    private func checkNoneIsForgotten(_ reverts: [Revert]) throws {
        let doubtful = reverts.filter(\.isUnknownToService)
        guard let first = doubtful.map(\.ends.firstSequence).min() else { return }
        var forgotten: [RecordPlace: UInt64] = [:]
        try reader.visitOperations(from: first) { operation in
            guard operation.kind == .forget else { return true }
            let place = RecordPlace(entity: operation.entity, key: try operation.key)
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

extension TableReader {
    /// What is to be reverted of a record; nil if nothing is.
    fileprivate func revert(of row: RowView, _ place: RecordPlace) throws -> Revert? {
        // A record that the service lost and that was not edited since has no edits to give up.
        guard row.isDirty, !row.flags.contains(.isForgotten), try !history(of: row).endsErased
        else { return nil }
        return Revert(
            place: place, ends: try UnsyncedEnds(self, of: row),
            isUnknownToService: row.syncedSequence == 0 && !row.hasChangeTag)
    }
}
