/// The identity of a record without its Swift type: entity, name and zone.
///
/// Everything that names a record by words has one: operations, conflicts, parked records, exports.
/// ``EntityID/recordID`` is that of a typed id.
public struct RecordID: Hashable, Sendable {
    /// The name of the record's entity.
    public let entity: String
    package let key: RecordKey

    /// The identity of a record.
    ///
    /// - Parameters:
    ///   - entity: The name of its entity.
    ///   - name: Its name on the service; a UUID in upper case.
    ///   - zone: Its zone: the one that the store is synchronised with, unless given.
    public init(entity: String, name: String, zone: RecordID.Zone = .own) {
        self.entity = entity
        key = RecordKey(RecordName(name), zone: zone.slot)
    }

    package init(entity: String, key: RecordKey) {
        self.entity = entity
        self.key = key
    }

    /// The record's name on the service.
    public var name: String { key.name.description }

    /// The record's zone.
    public var zone: RecordID.Zone { RecordID.Zone(slot: key.zone) }
}

extension RecordID: CustomStringConvertible {
    /// The entity and the record's name.
    public var description: String { "\(entity) \(key)" }
}

extension RecordID: Comparable {
    /// Orders by entity, then as the entity's rows are ordered.
    public static func < (left: RecordID, right: RecordID) -> Bool {
        (left.entity, left.key) < (right.entity, right.key)
    }
}

extension RecordID {
    /// A zone that records of a store belong to.
    ///
    /// It means something in one store, and in copies of it, alone: what another store calls by the same value may
    /// be another zone. Names of zones mean the same in all stores.
    public struct Zone: Hashable, Sendable {
        /// The zone that the store is synchronised with.
        public static let own = RecordID.Zone(slot: 0)
        /// The public database's zone.
        public static let `public` = RecordID.Zone(slot: 1)

        package let slot: UInt8

        package init(slot: UInt8) { self.slot = slot }
    }
}
