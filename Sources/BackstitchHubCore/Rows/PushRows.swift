import CloudKitWire
import Foundation
import WireCrypto

/// A subscription, with the user who made it.
struct SubscriptionRow: HubRow, Hashable, Sendable {
    static let title = "a subscription"

    var userRecordName: String
    var subscription: WireSubscription

    static func prefix(_ partition: Partition) -> HubKey { HubKey(partition, .subscription) }

    static func prefix(_ partition: Partition, user: String) -> HubKey {
        prefix(partition).adding(hashed: user)
    }

    static func key(_ partition: Partition, user: String, _ subscriptionID: String) -> HubKey {
        prefix(partition, user: user).adding(subscriptionID)
    }

    init(userRecordName: String, subscription: WireSubscription) {
        self.userRecordName = userRecordName
        self.subscription = subscription
    }

    init(json: JSONObject) throws(WireFormatError) {
        userRecordName = try json.requiredText("user")
        subscription = try WireSubscription(json: json.requiredObject("subscription"))
    }

    func write(to json: inout JSONWriter) {
        json.member("user", userRecordName)
        json.member("subscription", subscription)
    }
}

/// A device that is told of changes. The token itself is not kept, only its SHA-256.
struct PushTokenRow: HubRow, Hashable, Sendable {
    static let title = "a push token"

    var realm: UInt32
    var userRecordName: String
    var environment: String
    /// Milliseconds since 1970.
    var created: Int64
    /// The SHA-256 of the web token of the session that made or registered it, and with which it ends.
    var session: [UInt8]

    static func key(hash: [UInt8]) -> HubKey { HubKey(.global, .pushToken).adding(hash) }

    /// The tokens of a user.
    static func prefix(realm: UInt32, user: String) -> HubKey {
        HubKey(.global, .userPushToken).adding(realm).adding(hashed: user)
    }

    init(
        realm: UInt32, userRecordName: String, environment: String, created: Int64,
        session: [UInt8]
    ) {
        self.realm = realm
        self.userRecordName = userRecordName
        self.environment = environment
        self.created = created
        self.session = session
    }

    init(json: JSONObject) throws(WireFormatError) {
        realm = try json.number32("realm")
        userRecordName = try json.requiredText("user")
        environment = try json.text("environment") ?? ""
        created = try json.integer("created") ?? 0
        guard let hash = Data(base64Encoded: try json.requiredText("session")) else {
            throw WireFormatError("The hash of the session is no base64.")
        }
        session = Array(hash)
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(realm))
        json.member("user", userRecordName)
        json.member("environment", environment)
        json.member("created", integer: created)
        json.member("session", Data(session).base64EncodedString())
    }
}
