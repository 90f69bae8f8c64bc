import CloudKitWire

/// A zone, or what is left of one that was deleted.
struct ZoneRow: HubRow, Hashable, Sendable {
    static let title = "a zone"

    /// Tells it from all others of the database, also from those that had its name before.
    var number: UInt32
    var zoneName: String
    var isDeleted = false
    /// When the row of a deleted zone goes, in milliseconds since 1970; 0 if only another zone takes its room.
    var expires: Int64 = 0
    /// The position of the last change in the zone's feed.
    var sequence: UInt64 = 0
    /// Tokens of positions below this are refused: tombstones were removed.
    var floor: UInt64 = 0
    /// The position of the last change in the database's list of changed zones.
    var databaseSequence: UInt64 = 0
    /// What the records take up, and the files that they hold.
    var bytes: Int64 = 0

    static func key(_ partition: Partition, _ zoneName: String) -> HubKey {
        HubKey(partition, .zone).adding(zoneName)
    }

    /// A zone without records.
    init(number: UInt32, zoneName: String) {
        self.number = number
        self.zoneName = zoneName
    }

    init(json: JSONObject) throws(WireFormatError) {
        number = try json.number32("number")
        zoneName = try json.requiredText("name")
        isDeleted = try json.flag("deleted") ?? false
        expires = try json.integer("expires") ?? 0
        sequence = try json.number64("sequence")
        floor = try json.number64("floor")
        databaseSequence = try json.number64("databaseSequence")
        bytes = try json.integer("bytes") ?? 0
    }

    func write(to json: inout JSONWriter) {
        json.member("number", integer: Int64(number))
        json.member("name", zoneName)
        if isDeleted { json.member("deleted", flag: true) }
        if expires > 0 { json.member("expires", integer: expires) }
        json.member("sequence", integer: Int64(sequence))
        json.member("floor", integer: Int64(floor))
        json.member("databaseSequence", integer: Int64(databaseSequence))
        json.member("bytes", integer: bytes)
    }

    /// Whether it is the zone that every database has, which has no feed and is not atomic.
    var isDefault: Bool { zoneName == WireZoneID.defaultZoneName }

    /// Where its records are.
    func place(in partition: Partition) -> ZonePlace {
        ZonePlace(partition: partition, number: number)
    }
}

/// Where the records of a zone are, and what belongs to them.
struct ZonePlace: Hashable, Sendable {
    let partition: Partition
    /// The zone's number in its database.
    let number: UInt32

    /// The start of the zone's keys of a table.
    func key(_ table: HubKey.Table) -> HubKey { HubKey(partition, table).adding(number) }
}
