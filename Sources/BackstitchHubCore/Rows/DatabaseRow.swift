import CloudKitWire

/// A database: the public one of a realm, or the private one of a user.
struct DatabaseRow: HubRow, Hashable, Sendable {
    static let title = "a database"

    /// Tells it from all others.
    var number: UInt32
    /// The position of the last change in the list of changed zones.
    var sequence: UInt64 = 0
    /// What the records of all zones take up, and the files that they hold; nil if it was not
    /// counted yet.
    var bytes: Int64?

    static func key(realm: UInt32, _ scope: WireDatabase, user: String) -> HubKey {
        HubKey(.database).adding(realm).adding(terminated: scope.rawValue).adding(user)
    }

    /// A database without records.
    init(number: UInt32) {
        self.number = number
        bytes = 0
    }

    init(json: JSONObject) throws(WireFormatError) {
        number = try json.number32("number")
        sequence = try json.number64("sequence")
        bytes = try json.integer("bytes")
    }

    func write(to json: inout JSONWriter) {
        json.member("number", integer: Int64(number))
        json.member("sequence", integer: Int64(sequence))
        json.member("bytes", integer: bytes)
    }
}
