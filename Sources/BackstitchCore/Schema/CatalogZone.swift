/// A zone in a store's catalog, beside the store's own, which has slot 0.
package struct CatalogZone: Hashable, Sendable, Codable {
    /// The slot in the keys of its records.
    package let number: UInt8
    /// Its name on the service.
    package let name: String
    /// The record name of the user whose zone it is; nil for the user of the store.
    package let owner: String?
    /// Where the service keeps it.
    package let database: DatabaseScope
    /// The last operation of the log when it ended; nil while it is there. The slot is not given to another zone
    /// as long as the log has an operation of it.
    package internal(set) var endedAt: UInt64?

    package init(number: UInt8, name: String, owner: String? = nil, database: DatabaseScope) {
        self.number = number
        self.name = name
        self.owner = owner
        self.database = database
    }

    /// The slots that are given out. Slot 1 is the public database's, and 255 is for later versions.
    package static let numbers: ClosedRange<UInt8> = 2...254

    /// Whether it is the zone that these name.
    package func isNamed(_ name: String, _ owner: String?, _ database: DatabaseScope) -> Bool {
        self.name.utf8.elementsEqual(name.utf8) && self.owner == owner && self.database == database
    }
}

extension Catalog {
    /// The zones beside the store's own that did not end, in the order of their slots.
    package var places: [ZonePlace] {
        zones.filter { $0.endedAt == nil }.map { zone in
            ZonePlace(
                slot: zone.number, id: ZoneID(zone.name, ownerName: zone.owner),
                database: zone.database)
        }
    }

    /// The zone with a slot, if it did not end.
    package func zone(_ slot: UInt8) -> CatalogZone? {
        zones.first { $0.number == slot && $0.endedAt == nil }
    }

    /// The zone of a name, if it did not end.
    package func zone(
        named name: String, owner: String? = nil, in database: DatabaseScope
    ) -> CatalogZone? {
        zones.first { $0.endedAt == nil && $0.isNamed(name, owner, database) }
    }

    /// Gives a zone the next slot; nil if all were given.
    package mutating func add(
        zone name: String, owner: String?, in database: DatabaseScope
    ) -> CatalogZone? {
        let last = zones.last?.number ?? 0
        guard last < CatalogZone.numbers.upperBound else { return nil }
        let zone = CatalogZone(
            number: max(last + 1, CatalogZone.numbers.lowerBound), name: name, owner: owner,
            database: database)
        zones.append(zone)
        return zone
    }

    /// Takes the entry of a zone that ended away, so that its slot can be given again.
    package mutating func free(zone slot: UInt8) {
        zones.removeAll { $0.number == slot && $0.endedAt != nil }
    }

    /// Notes that a zone ended.
    package mutating func end(zone slot: UInt8, at sequence: UInt64) {
        guard let index = zones.firstIndex(where: { $0.number == slot }) else { return }
        zones[index].endedAt = sequence
    }

    /// Whether slots ascend, none is reserved, and no two zones that are there have one name.
    var hasWellFormedZones: Bool {
        let slots = zones.map(\.number)
        let areGiven = slots.allSatisfy { $0 == 1 || CatalogZone.numbers.contains($0) }
        let live = zones.filter { $0.endedAt == nil }
        let areNamed = live.allSatisfy { zone in
            !zone.name.isEmpty
                && live.count { $0.isNamed(zone.name, zone.owner, zone.database) } == 1
        }
        return areGiven && areNamed && zip(slots, slots.dropFirst()).allSatisfy { $0 < $1 }
    }
}
