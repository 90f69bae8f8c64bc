/// A zone of a store: where it is on the service, and in the keys of its records.
package struct ZonePlace: Hashable, Sendable {
    /// The slot in the keys of its records.
    package let slot: UInt8
    /// Its name and owner on the service.
    package let id: ZoneID
    /// Where the service keeps it.
    package let database: DatabaseScope

    package init(slot: UInt8, id: ZoneID, database: DatabaseScope) {
        self.slot = slot
        self.id = id
        self.database = database
    }

    /// The store's own zone.
    package static func own(_ name: String) -> ZonePlace {
        ZonePlace(slot: 0, id: ZoneID(name), database: .private)
    }
}
