public import BackstitchCore

extension RecordReading where Self: ~Copyable {
    /// Reads a record, or returns nil if it does not exist.
    ///
    /// - Throws: `unknownEntity`; `unreadable` if what the service delivered does not fit the type.
    @inlinable
    public func find<Model: Entity>(_ id: EntityID<Model>) throws -> Model? {
        try reader.find(id, types.binding(of: Model.self))
    }

    /// Reads a record whose id does not tell its type, as a literal does not:
    /// `find(Country.self, "NL")`.
    ///
    /// - Throws: as ``find(_:)``.
    @inlinable
    public func find<Model: Entity>(_ type: Model.Type, _ id: EntityID<Model>) throws -> Model? {
        try find(id)
    }

    /// Whether there is a record, without decoding it.
    ///
    /// - Throws: `unknownEntity`.
    public func exists<Model: Entity>(_ id: EntityID<Model>) throws -> Bool {
        try reader.liveBody(types.binding(of: Model.self).number, id.key) != nil
    }
}
