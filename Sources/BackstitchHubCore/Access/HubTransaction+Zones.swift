import BackstitchCore
import CloudKitWire
import Foundation

extension HubReading {
    /// What the hub knows of itself.
    func state() throws -> StateRow {
        guard let state: StateRow = try row(StateRow.key) else {
            throw HubFailure("The hub's data is damaged: it has no state. Restore a backup.")
        }
        return state
    }

    /// The database; nil if nothing was ever asked of it.
    func database(_ access: DatabaseAccess) throws -> DatabaseRow? { try row(access.key) }

    /// Tells that a zone is read next, with what the hub knows of itself, and what is read besides.
    func expect(
        zone id: WireZoneID, _ access: DatabaseAccess, _ others: () throws -> [KeyQuery] = { [] }
    ) throws {
        try expect { try others() + [.key(StateRow.key), .key(access.key)] }
        try expect(zones: [id], access)
    }

    /// Tells that zones of a database are read next whose row is known to be expected.
    func expect(zones ids: [WireZoneID], _ access: DatabaseAccess) throws {
        try expect {
            guard let database = try database(access) else { return [] }
            return ids.filter(\.isValid)
                .map { .key(ZoneRow.key(database: database.number, $0.zoneName)) }
        }
    }

    /// A zone that is there.
    ///
    /// - Throws: `ZONE_NOT_FOUND`, also for zones of other users.
    func zone(_ id: WireZoneID, _ access: DatabaseAccess) throws -> ZoneRow {
        // No key is longer than that of the longest name.
        guard id.isValid, access.owns(id), let database = try database(access),
            let zone: ZoneRow = try row(ZoneRow.key(database: database.number, id.zoneName)),
            !zone.isDeleted
        else { throw WireError(.zoneNotFound, "Zone does not exist") }
        return zone
    }

    /// All zones of a database that are there, by name.
    func zones(_ database: DatabaseRow) throws -> [ZoneRow] {
        try rows(under: HubKey(.zone).adding(database.number), as: ZoneRow.self)
            .map(\.row).filter { !$0.isDeleted }
    }

    /// How many zones a database has, with those that were deleted.
    func zoneCount(_ access: DatabaseAccess) throws -> Int {
        guard let database = try database(access) else { return 0 }
        var count = 0
        try scan(HubKey(.zone).adding(database.number), from: nil) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// The record of a name that is there.
    func liveRecord(_ name: String, in zone: ZoneRow) throws -> StoredRecord? {
        guard ServiceNames.isRecordName(name) else { return nil }
        let view = StoredZoneView(transaction: self, zone: zone.number, now: 0)
        return try view.record(name).flatMap { $0.isDeleted ? nil : $0 }
    }
}

extension HubWriting {
    /// The database, made with its default zone if it is not there.
    func openDatabase(_ access: DatabaseAccess) throws -> DatabaseRow {
        if let database = try database(access) { return database }
        var state = try state()
        state.lastDatabase += 1
        var database = DatabaseRow(number: state.lastDatabase)
        try put(StateRow.key, state)
        if case .sharedWith = access.scope {
            try put(access.key, database)
        } else {
            _ = try makeZone(WireZoneID.defaultZoneName, in: &database, access)
        }
        return database
    }

    /// Makes a zone, and notes it in the list of changed zones.
    func makeZone(
        _ zoneName: String, in database: inout DatabaseRow, _ access: DatabaseAccess
    ) throws -> ZoneRow {
        var state = try state()
        state.lastZone += 1
        try put(StateRow.key, state)
        let key = ZoneRow.key(database: database.number, zoneName)
        var zone = ZoneRow(number: state.lastZone, zoneName: zoneName)
        zone.databaseSequence = try row(key, as: ZoneRow.self)?.databaseSequence ?? 0
        try noteChange(of: &zone, in: &database, access)
        return zone
    }

    /// Puts a zone at the end of the list of changed zones, and writes both rows.
    func noteChange(
        of zone: inout ZoneRow, in database: inout DatabaseRow, _ access: DatabaseAccess
    ) throws {
        let feed = HubKey(.databaseFeed).adding(database.number)
        if zone.databaseSequence > 0 { try delete(feed.adding(zone.databaseSequence)) }
        database.sequence += 1
        zone.databaseSequence = database.sequence
        try put(feed.adding(database.sequence), Array(zone.zoneName.utf8))
        try put(access.key, database)
        try put(ZoneRow.key(database: database.number, zone.zoneName), zone)
    }

    /// Deletes a zone. Its records go bit by bit, with later writes; its subscriptions are the caller's
    /// to delete, see ``deleteSubscriptions(toZones:of:)``.
    func deleteZone(_ zone: ZoneRow, _ access: DatabaseAccess) throws {
        var database = try openDatabase(access)
        try countBytes(of: &database, access)
        guard var zone: ZoneRow = try row(ZoneRow.key(database: database.number, zone.zoneName))
        else { return }
        database.bytes = (database.bytes ?? 0) - (zone.bytes ?? 0)
        zone.bytes = 0
        zone.isDeleted = true
        try noteChange(of: &zone, in: &database, access)
        try put(HubKey(.endedZone).adding(zone.number), [])
    }

    /// Deletes the subscriptions to zones of a private database, all of which are of one user and so
    /// as many as one may have.
    ///
    /// - Complexity: O(*n*) in the subscriptions, however many zones there are.
    func deleteSubscriptions(toZones zoneNames: Set<String>, of access: DatabaseAccess) throws {
        guard !zoneNames.isEmpty, let database = try database(access) else { return }
        let subscriptions = try rows(
            under: SubscriptionRow.prefix(database: database.number), as: SubscriptionRow.self)
        for (key, row) in subscriptions {
            guard let zone = row.subscription.zoneID, zoneNames.contains(zone.zoneName) else {
                continue
            }
            try delete(key)
        }
    }
}

extension WireZoneID {
    /// Whether the name is one that a zone can have.
    var isValid: Bool { zoneName == Self.defaultZoneName || ServiceNames.isRecordName(zoneName) }

    /// What native clients write for the user who is signed in.
    fileprivate static let placeholderOwner = "__defaultOwner__"

    /// Whether another id means this zone; one without an owner means the caller's.
    func isSame(as other: WireZoneID) -> Bool {
        guard zoneName == other.zoneName else { return false }
        guard let owner = other.ownerRecordName, owner != Self.placeholderOwner else { return true }
        return owner == ownerRecordName
    }
}

extension DatabaseAccess {
    /// Whether a zone id can mean a zone of this database.
    func owns(_ id: WireZoneID) -> Bool {
        guard let owner = id.ownerRecordName, owner != WireZoneID.placeholderOwner else {
            return true
        }
        return owner == ownerRecordName
    }

    /// Who owns the zones; nil for everybody's.
    var ownerRecordName: String? {
        if case .own(let user) = scope { user } else { nil }
    }

    /// A zone's name as replies tell it.
    func wireID(_ zoneName: String) -> WireZoneID {
        WireZoneID(
            zoneName, ownerRecordName: ownerRecordName,
            zoneType: zoneName == WireZoneID.defaultZoneName
                ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE")
    }
}
