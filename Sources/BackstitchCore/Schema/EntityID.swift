public import Foundation

/// The identity of a record of one entity.
///
/// `Employee.ID` is `EntityID<Employee>`, so that ids of different entities can't be mixed up.
/// `ID()` makes a new UUID of version 7, which sorts by time; `ID("name")` takes any record name.
public struct EntityID<Model>: Hashable, Sendable {
    /// The record's key in its store.
    @usableFromInline
    package let key: RecordKey

    /// The id of the record with this name in the store's own zone.
    ///
    /// The name is checked when a record is saved: 1 to 255 bytes in Unicode's normal form C that don't begin
    /// with an underscore. Names are compared by their bytes.
    public init(_ name: String) {
        key = RecordKey(RecordName(name))
    }

    /// The id of the record whose name is a UUID, in upper case.
    public init(_ uuid: UUID) {
        key = RecordKey(.uuid(uuid))
    }

    /// The id of the record with this name in a zone.
    ///
    /// Records of two zones may have one name; their ids differ. The name is checked when a record is saved, as
    /// in the store's own zone.
    /// - Parameter zone: A zone of the store that the record is in.
    public init(_ name: String, in zone: RecordID.Zone) {
        key = RecordKey(name, zone: zone)
    }

    /// The id of the record of a zone whose name is a UUID, in upper case.
    ///
    /// - Parameter zone: A zone of the store that the record is in.
    public init(_ uuid: UUID, in zone: RecordID.Zone) {
        key = RecordKey(.uuid(uuid), zone: zone.slot)
    }

    @inlinable
    package init(key: RecordKey) {
        self.key = key
    }

    /// The record's name on the service; a UUID in upper case.
    public var name: String { key.name.description }

    /// The zone that the record is in.
    public var zone: RecordID.Zone { RecordID.Zone(slot: key.zone) }

    /// The record's name, if it is a UUID in upper case.
    public var uuid: UUID? {
        guard case .uuid(let uuid) = key.name else { return nil }
        return uuid
    }
}

extension EntityID where Model: Entity {
    /// The identity without the Swift type.
    public var recordID: RecordID { RecordID(entity: Model.entityName, key: key) }

    /// The id of a record of this entity; nil if the record is of another one.
    public init?(_ id: RecordID) {
        guard id.entity == Model.entityName else { return nil }
        self.init(key: id.key)
    }
}

extension EntityID: CustomStringConvertible {
    /// The record name.
    public var description: String { key.description }
}

extension EntityID: Comparable {
    /// Orders ids as their stored bytes.
    public static func < (left: EntityID, right: EntityID) -> Bool { left.key < right.key }
}

extension EntityID: ExpressibleByStringLiteral {
    /// The id of the record with this name.
    public init(stringLiteral value: String) { self.init(value) }
}

extension EntityID {
    /// Reads an id from text; ids in other zones than the store's own carry their slot.
    package init(text: String) { key = RecordKey(text: text) }

    /// The id as text.
    package var text: String { key.text }
}

extension EntityID: Codable {
    /// Reads an id from a single string.
    ///
    /// Text that names a zone beside the own one gives the id of the store's zone that has this number, whatever
    /// store wrote it; see ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        self.init(text: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the id as a single string.
    ///
    /// The id of a record in the store's own zone is its name. That of another zone has the number in front that
    /// this store gave to the zone. Another store, also one of the same user on another device, gives other
    /// numbers: read it in the store, or a copy of it, that it was written for. In data for other stores, keep the
    /// record's ``name`` and the name of its zone.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension EntityID: OrderedAttributeValue where Model: Entity {}

extension EntityID: AttributeValue where Model: Entity {
    /// `reference`.
    public static var _attributeType: AttributeType { .reference }
    /// The entity that the id is of.
    public static var _referencedEntity: String? { Model.entityName }
    /// Reads a stored reference.
    @inlinable
    public init(_field field: _FieldValue) throws { self.init(key: try field.reference()) }
    /// Writes a reference; throws if the record name is impossible.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(reference: key, at: index)
    }
    /// `reference`.
    public var _recordValue: RecordValue { .reference(key) }
}
