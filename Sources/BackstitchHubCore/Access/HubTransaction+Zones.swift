import BackstitchCore
import CloudKitWire
import Foundation

extension HubReading {
    /// What the hub knows of itself.
    func state() throws -> StateRow {
        guard let state: StateRow = try row(StateRow.key) else {
            throw HubError(
                .damaged, "The hub's data is damaged: it has no state. Restore a backup.")
        }
        return state
    }

    /// The partition of a database; nil if nothing was ever asked of it.
    func partition(of name: DatabaseName) throws -> Partition? {
        try row(name.key, as: DatabaseNameRow.self)?.partition
    }

    /// The database.
    ///
    /// - Parameter memo: The databases that were read before; nil for none.
    func database(
        _ access: DatabaseAccess, _ memo: RowMemo<DatabaseRow>? = nil
    ) throws -> DatabaseRow {
        let key = DatabaseRow.key(access.partition)
        let database: DatabaseRow? = try memo.map({ try $0.row(key, self) }) ?? row(key)
        guard let database else {
            throw HubError(
                .damaged,
                "The hub's data is damaged: a database is not where its name says. Restore a backup."
            )
        }
        return database
    }

    /// Tells that zones are read next, with their database and what the hub knows of itself, and what is
    /// read besides.
    func expect(
        zones ids: [WireZoneID], _ access: DatabaseAccess, _ others: () -> [KeyQuery] = { [] }
    ) {
        expect { access.expected(zones: ids) + others() }
    }

    /// A zone that is there.
    ///
    /// - Throws: `ZONE_NOT_FOUND`, also for zones of other users.
    ///
    /// - Parameter memo: The zones that were read before; nil for none.
    func zone(
        _ id: WireZoneID, _ access: DatabaseAccess, _ memo: RowMemo<ZoneRow>? = nil
    ) throws -> ZoneRow {
        let key = { ZoneRow.key(access.partition, id.zoneName) }
        // No key is longer than that of the longest name.
        guard id.isValid, access.owns(id),
            let zone = try memo.map({ try $0.row(key(), self) }) ?? row(key()), !zone.isDeleted
        else { throw WireError(.zoneNotFound, "Zone does not exist") }
        return zone
    }

    /// All zones of a database that are there, by name.
    func zones(_ access: DatabaseAccess) throws -> [ZoneRow] {
        try rows(under: HubKey(access.partition, .zone), as: ZoneRow.self)
            .map(\.row).filter { !$0.isDeleted }
    }

    /// How many rows of zones a database has, with those of zones that were deleted.
    func zoneCount(_ access: DatabaseAccess) throws -> Int {
        var count = 0
        try unsafe scan(HubKey(access.partition, .zone), from: nil) { _, _ in
            count += 1
            return true
        }
        return count
    }
}

extension HubWriting {
    /// Makes a database, with its default zone, in the partition of the next number.
    func makeDatabase(_ access: DatabaseAccess, now: Int64, _ limits: HubLimits) throws {
        var state = try state()
        state.lastDatabase = access.partition.number
        try put(StateRow.key, state)
        try put(access.name.key, DatabaseNameRow(partition: access.partition))
        var database = DatabaseRow(access.name)
        if case .sharedWith = access.scope {
            try put(DatabaseRow.key(access.partition), database)
        } else {
            _ = try makeZone(
                WireZoneID.defaultZoneName, in: &database, access, now: now, limits)
        }
    }

    /// Makes a zone, and notes it in the list of changed zones.
    func makeZone(
        _ zoneName: String, in database: inout DatabaseRow, _ access: DatabaseAccess, now: Int64,
        _ limits: HubLimits
    ) throws -> ZoneRow {
        database.lastZone += 1
        var zone = ZoneRow(number: database.lastZone, zoneName: zoneName)
        let key = ZoneRow.key(access.partition, zoneName)
        if let known: ZoneRow = try row(key) {
            zone.databaseSequence = known.databaseSequence
            try forgetExpiry(of: key, at: known.expires)
        }
        try noteChange(of: &zone, in: &database, access, now: now, limits)
        return zone
    }

    /// Puts a zone at the end of the list of changed zones, and writes both rows.
    ///
    /// - Parameter now: Milliseconds since 1970.
    func noteChange(
        of zone: inout ZoneRow, in database: inout DatabaseRow, _ access: DatabaseAccess,
        now: Int64, _ limits: HubLimits
    ) throws {
        let feed = HubKey(access.partition, .databaseFeed)
        if zone.databaseSequence > 0 { try delete(feed.adding(zone.databaseSequence)) }
        try noteRun(in: &database, access.partition, now: now, limits)
        database.sequence += 1
        zone.databaseSequence = database.sequence
        try put(feed.adding(database.sequence), Array(zone.zoneName.utf8))
        try put(DatabaseRow.key(access.partition), database)
        try put(ZoneRow.key(access.partition, zone.zoneName), zone)
    }

    /// Deletes a zone. Its records go bit by bit, with later writes, and its row once tombstones of this time
    /// go; its subscriptions are the caller's to delete, see ``deleteSubscriptions(toZones:of:)``.
    func deleteZone(
        _ zone: ZoneRow, _ access: DatabaseAccess, now: Int64, _ limits: HubLimits
    ) throws {
        var (database, zone) = (try database(access), zone)
        database.bytes -= zone.bytes
        zone.bytes = 0
        zone.isDeleted = true
        zone.expires = now + limits.tombstoneMilliseconds
        try noteExpiry(of: ZoneRow.key(access.partition, zone.zoneName), at: zone.expires)
        try noteChange(of: &zone, in: &database, access, now: now, limits)
        try put(zone.place(in: access.partition).key(.endedZone), [])
    }

    /// Forgets the zone that was deleted first, so that another one has room.
    ///
    /// - Parameters:
    ///   - position: Where to look on in that list; moves on to the zone that was found. Nothing before it
    ///     can become a deleted zone, because changes go to the end of the list.
    ///   - database: Gets the new floor, and is the caller's to write.
    /// - Returns: Whether there was one.
    /// - Complexity: O(*n*) in the zones, for all calls that share a position together.
    func forgetDeletedZone(
        after position: inout UInt64, in database: inout DatabaseRow, _ access: DatabaseAccess,
        _ limits: HubLimits
    ) throws -> Bool {
        let feed = HubKey(access.partition, .databaseFeed)
        let (start, countMax) = (feed.adding(position + 1), limits.zonesPerDatabase + 1)
        expect { [.first(countMax, of: feed, from: start)] }
        var ended: ZoneRow?
        try unsafe scan(feed, from: start) { _, value in
            let row = ZoneRow.key(access.partition, unsafe String(decoding: value, as: UTF8.self))
            guard let zone: ZoneRow = try self.row(row), zone.isDeleted else { return true }
            ended = zone
            return false
        }
        position = ended?.databaseSequence ?? database.sequence
        guard let ended else { return false }
        try forget(ended, in: &database, access.partition)
        return true
    }

    /// Removes what is left of a deleted zone. Tokens of the list of changed zones from before its end are
    /// refused from then on.
    ///
    /// - Parameter database: Gets the new floor, and is the caller's to write.
    func forget(
        _ zone: ZoneRow, in database: inout DatabaseRow, _ partition: Partition
    ) throws {
        let key = ZoneRow.key(partition, zone.zoneName)
        database.floor = max(database.floor, zone.databaseSequence)
        try delete(HubKey(partition, .databaseFeed).adding(zone.databaseSequence))
        try delete(key)
        try forgetExpiry(of: key, at: zone.expires)
    }

    /// Deletes the subscriptions to zones of a private database, all of which are of one user and so
    /// as many as one may have.
    ///
    /// - Complexity: O(*n*) in the subscriptions, however many zones there are.
    func deleteSubscriptions(toZones zoneNames: Set<String>, of access: DatabaseAccess) throws {
        guard !zoneNames.isEmpty else { return }
        let subscriptions = try rows(
            under: SubscriptionRow.prefix(access.partition), as: SubscriptionRow.self)
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
    /// What is read of the database and of zones in it.
    func expected(zones ids: [WireZoneID]) -> [KeyQuery] {
        [.key(StateRow.key), .key(DatabaseRow.key(partition))]
            + ids.filter(\.isValid).map { .key(ZoneRow.key(partition, $0.zoneName)) }
    }

    /// All zones of the database.
    func expectedZones(_ limits: HubLimits) -> KeyQuery {
        .first(limits.zonesPerDatabase + 1, of: HubKey(partition, .zone))
    }

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
