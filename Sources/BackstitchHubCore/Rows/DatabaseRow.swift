import CloudKitWire

/// By what a database is known: the public one of a realm, or one of a user.
struct DatabaseName: Hashable, Sendable {
    var realm: UInt32
    var scope: WireDatabase
    /// The user; empty for the public one.
    var user: String

    /// The key of its number, among what the hub shares.
    var key: HubKey {
        HubKey(.global, .databaseName).adding(realm).adding(terminated: scope.rawValue).adding(user)
    }
}

/// The number of a database, by its name.
struct DatabaseNameRow: HubRow, Hashable, Sendable {
    static let title = "the number of a database"

    /// All that the database has is in this partition.
    var partition: Partition

    init(partition: Partition) { self.partition = partition }

    init(json: JSONObject) throws(WireFormatError) {
        partition = Partition(number: try json.number64("number"))
    }

    func write(to json: inout JSONWriter) {
        json.member("number", integer: Int64(partition.number))
    }
}

/// What a database's partition tells of the database.
struct DatabaseRow: HubRow, Hashable, Sendable {
    static let title = "a database"

    var name: DatabaseName
    /// The position of the last change in the list of changed zones.
    var sequence: UInt64 = 0
    /// The run that changed it last; 0 before the first one.
    var run: UInt64 = 0
    /// Tokens of positions below this are refused: rows of deleted zones were removed.
    var floor: UInt64 = 0
    /// The last number that was given to a zone; it is never given again.
    var lastZone: UInt32 = 0
    /// What the records of all zones take up, and the files that they hold.
    var bytes: Int64 = 0

    static func key(_ partition: Partition) -> HubKey { HubKey(partition, .database) }

    /// The last commit.
    var mark: FeedMark { FeedMark(run: run, sequence: sequence) }

    /// A database without records.
    init(_ name: DatabaseName) { self.name = name }

    init(json: JSONObject) throws(WireFormatError) {
        guard let scope = WireDatabase(rawValue: try json.requiredText("database")) else {
            throw WireFormatError("There is no such kind of database.")
        }
        name = DatabaseName(
            realm: try json.number32("realm"), scope: scope, user: try json.requiredText("user"))
        sequence = try json.number64("sequence")
        if let text = try json.text("run") {
            guard let number = UInt64(text, radix: 16) else { throw JSONObject.missing("run") }
            run = number
        }
        floor = UInt64(max(0, try json.integer("floor") ?? 0))
        lastZone = try json.number32("lastZone")
        bytes = try json.integer("bytes") ?? 0
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(name.realm))
        json.member("database", name.scope.rawValue)
        json.member("user", name.user)
        json.member("sequence", integer: Int64(sequence))
        if run != 0 { json.member("run", String(run, radix: 16)) }
        if floor > 0 { json.member("floor", integer: Int64(floor)) }
        json.member("lastZone", integer: Int64(lastZone))
        json.member("bytes", integer: bytes)
    }
}
