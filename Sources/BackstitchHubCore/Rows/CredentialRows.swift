import CloudKitWire
import WireCrypto

/// A token that opens a container's environment. The token itself is not kept, only its SHA-256.
struct APITokenRow: HubRow, Hashable, Sendable {
    static let title = "an API token"

    var realm: UInt32
    var label: String

    static func key(_ token: String) -> HubKey { key(hash: Digest.sha256(token)) }
    static func key(hash: [UInt8]) -> HubKey { HubKey(.global, .apiToken).adding(hash) }

    init(realm: UInt32, label: String) {
        self.realm = realm
        self.label = label
    }

    init(json: JSONObject) throws(WireFormatError) {
        realm = try json.number32("realm")
        label = try json.text("label") ?? ""
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(realm))
        json.member("label", label)
    }
}

/// A token that a user is signed in with. The token itself is not kept, only its SHA-256.
struct WebTokenRow: HubRow, Hashable, Sendable {
    static let title = "a web token"

    var realm: UInt32
    var userRecordName: String
    /// Milliseconds since 1970; from then on the token is refused.
    var expires: Int64

    static func key(_ token: String) -> HubKey { key(hash: Digest.sha256(token)) }
    static func key(hash: [UInt8]) -> HubKey { HubKey(.global, .webToken).adding(hash) }

    init(realm: UInt32, userRecordName: String, expires: Int64) {
        self.realm = realm
        self.userRecordName = userRecordName
        self.expires = expires
    }

    init(json: JSONObject) throws(WireFormatError) {
        realm = try json.number32("realm")
        userRecordName = try json.requiredText("user")
        expires = try json.integer("expires") ?? 0
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(realm))
        json.member("user", userRecordName)
        json.member("expires", integer: expires)
    }
}

/// A public key whose owner signs requests.
struct ServerKeyRow: HubRow, Hashable, Sendable {
    static let title = "a server key"

    var realm: UInt32
    var publicPEM: String
    /// Whom the records are attributed to that the key's owner writes.
    var userRecordName: String
    var label: String

    /// The id is 64 hexadecimal digits.
    static func key(id: String) -> HubKey { HubKey(.global, .serverKey).adding(id) }

    init(realm: UInt32, publicPEM: String, userRecordName: String, label: String) {
        self.realm = realm
        self.publicPEM = publicPEM
        self.userRecordName = userRecordName
        self.label = label
    }

    init(json: JSONObject) throws(WireFormatError) {
        realm = try json.number32("realm")
        publicPEM = try json.requiredText("publicKey")
        userRecordName = try json.requiredText("user")
        label = try json.text("label") ?? ""
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(realm))
        json.member("publicKey", publicPEM)
        json.member("user", userRecordName)
        json.member("label", label)
    }
}
