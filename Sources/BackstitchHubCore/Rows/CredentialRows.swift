import CloudKitWire
import WireCrypto

/// A token that opens a container's environment. The token itself is not kept, only its SHA-256.
struct APITokenRow: HubRow, Hashable, Sendable {
    static let title = "an API token"

    var realm: UInt32
    var label: String
    /// The origins of web pages that get the token of a user who signs in for this one.
    var origins: [String] = []
    /// Where the user is sent with that token in their place; nil for nowhere.
    var callback: String?

    static func key(_ token: String) -> HubKey { key(hash: Digest.sha256(token)) }
    static func key(hash: [UInt8]) -> HubKey { HubKey(.global, .apiToken).adding(hash) }

    init(realm: UInt32, label: String) {
        self.realm = realm
        self.label = label
    }

    init(json: JSONObject) throws(WireFormatError) {
        realm = try json.number32("realm")
        label = try json.text("label") ?? ""
        origins = try json.texts("origins") ?? []
        callback = try json.text("callback")
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(realm))
        json.member("label", label)
        if !origins.isEmpty { json.member("origins", texts: origins) }
        json.member("callback", callback)
    }
}

/// A session of a user, by the SHA-256 of its secret, which is not kept.
struct WebTokenRow: HubRow, Hashable, Sendable {
    static let title = "a web token"

    var realm: UInt32
    var userRecordName: String
    /// When the first token ends, in milliseconds since 1970; those that take its place end later.
    var expires: Int64
    /// When the session ends however much it is used, in milliseconds since 1970.
    var ends: Int64
    /// When the user signed in, in milliseconds since 1970.
    var created: Int64
    /// When a later token was issued last, in milliseconds since 1970, or some days before; nil if none
    /// was.
    var used: Int64?

    static func key(_ token: String) -> HubKey { key(hash: Digest.sha256(token)) }
    static func key(hash: [UInt8]) -> HubKey { HubKey(.global, .webToken).adding(hash) }

    init(
        realm: UInt32, userRecordName: String, expires: Int64, ends: Int64, created: Int64
    ) {
        self.realm = realm
        self.userRecordName = userRecordName
        self.expires = expires
        self.ends = ends
        self.created = created
    }

    init(json: JSONObject) throws(WireFormatError) {
        realm = try json.number32("realm")
        userRecordName = try json.requiredText("user")
        expires = try json.integer("expires") ?? 0
        ends = try json.integer("ends") ?? 0
        created = try json.integer("created") ?? 0
        used = try json.integer("used")
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(realm))
        json.member("user", userRecordName)
        json.member("expires", integer: expires)
        json.member("ends", integer: ends)
        json.member("created", integer: created)
        json.member("used", integer: used)
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
