public import BackstitchCore

extension RecordReading where Self: ~Copyable {
    /// Reads a record, or returns nil if it does not exist.
    ///
    /// - Throws: `unknownEntity`; `unreadable` if what the service delivered does not fit the type.
    @inlinable
    public func find<Model: Entity>(_ id: EntityID<Model>) throws -> Model? {
        try reader.find(id, types.binding(of: Model.self))
    }

    /// Reads a record by an id without a type, such as a literal: `find(Country.self, "NL")`.
    ///
    /// - Throws: as ``find(_:)``.
    @inlinable
    public func find<Model: Entity>(_ type: Model.Type, _ id: EntityID<Model>) throws -> Model? {
        try find(id)
    }

    /// Whether a record exists, without decoding it.
    ///
    /// - Throws: `unknownEntity`.
    public func exists<Model: Entity>(_ id: EntityID<Model>) throws -> Bool {
        try unsafe reader.liveBody(types.binding(of: Model.self).number, id.key) != nil
    }
}
