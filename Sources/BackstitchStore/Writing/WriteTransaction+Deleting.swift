public import BackstitchCore
import BackstitchLog

extension WriteTransaction {
    /// Deletes a record, and does to the records that refer to it what their delete rules say.
    ///
    /// - Returns: whether there was such a record.
    /// - Throws: `deleteDenied` if a rule forbids it; nothing is deleted then.
    @discardableResult
    public func delete<Model: Entity>(_ id: EntityID<Model>) throws -> Bool {
        let binding = try types.binding(of: Model.self)
        return try log.delete(binding.number, id.key)
    }

    /// Deletes a record, and does to the records that refer to it what their delete rules say.
    ///
    /// - Returns: whether there was such a record.
    /// - Throws: `deleteDenied` if a rule forbids it; nothing is deleted then.
    @discardableResult
    public func delete<Model: Entity>(_ model: Model) throws -> Bool {
        try delete(model.id)
    }
}
