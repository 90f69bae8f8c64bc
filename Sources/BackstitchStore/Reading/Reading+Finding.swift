public import BackstitchCore

extension ReadTransaction {
    /// Reads a record; nil if there is none.
    ///
    /// - Throws: `unknownEntity`; `unreadable` if what the service delivered does not fit the type.
    @inlinable
    public func find<Model: Entity>(
        _ type: Model.Type = Model.self, _ id: EntityID<Model>
    ) throws -> Model? {
        try reader.find(id, types.binding(of: type))
    }
}

extension WriteTransaction {
    /// Reads a record as this transaction left it; nil if there is none.
    ///
    /// - Throws: `unknownEntity`; `unreadable` if what the service delivered does not fit the type.
    @inlinable
    public func find<Model: Entity>(
        _ type: Model.Type = Model.self, _ id: EntityID<Model>
    ) throws -> Model? {
        try reader.find(id, types.binding(of: type))
    }
}
