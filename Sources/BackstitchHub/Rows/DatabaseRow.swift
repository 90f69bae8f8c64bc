import CloudKitWire

/// A database: the public one of a realm, or the private one of a user.
struct DatabaseRow: HubRow, Hashable, Sendable {
    static let title = "a database"

    /// Tells it from all others.
    var number: UInt32
    /// The position of the last change in the list of changed zones.
    var sequence: UInt64 = 0

    static func key(realm: UInt32, _ scope: WireDatabase, user: String) -> HubKey {
        HubKey(.database).adding(realm).adding(terminated: scope.rawValue).adding(user)
    }

    init(number: UInt32) { self.number = number }

    init(json: JSONObject) throws(WireFormatError) {
        number = try json.number32("number")
        sequence = try json.number64("sequence")
    }

    func write(to json: inout JSONWriter) {
        json.member("number", integer: Int64(number))
        json.member("sequence", integer: Int64(sequence))
    }
}
