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
        try Revert(log).revert(
            StoredRecordID(entity: try types.binding(of: Model.self).number, key: id.key))
    }

    /// As ``revert(_:)``, without the Swift type.
    @discardableResult
    public func revert(_ record: RecordID) throws -> Bool {
        let entity = try reader.table(named: record.entity).number
        return try Revert(log).revert(StoredRecordID(entity: entity, key: record.key))
    }

    /// Gives up all unsynced edits; see ``revert(_:)``.
    ///
    /// A store that was never synced is empty afterwards.
    /// - Returns: the number of records that had such edits.
    /// - Complexity: O(*n*) in the records of the store.
    @discardableResult
    public func revertAll() throws -> Int { try Revert(log).revertAll() }
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
