import CloudKitWire
import Foundation

/// What the hub knows of itself.
struct StateRow: HubRow, Sendable {
    static let title = "the hub's state"
    static let key = HubKey(.global, .state)

    /// Another one for each hub, and after a restore: tokens of other epochs are refused.
    var epoch: UInt64
    /// Signs tokens.
    var tokenKey: [UInt8]
    /// The last numbers that were given; they are never given again.
    var lastRealm: UInt32 = 0
    var lastDatabase: UInt64 = 0
    /// Whether files may be objects of a bucket.
    var hasObjects = false

    init(epoch: UInt64, tokenKey: [UInt8]) {
        self.epoch = epoch
        self.tokenKey = tokenKey
    }

    init(json: JSONObject) throws(WireFormatError) {
        guard let epoch = UInt64(try json.requiredText("epoch"), radix: 16),
            let key = Data(base64Encoded: try json.requiredText("tokenKey"))
        else { throw WireFormatError("The epoch or the key is no number.") }
        self.epoch = epoch
        tokenKey = Array(key)
        lastRealm = try json.number32("lastRealm")
        lastDatabase = try json.number64("lastDatabase")
        hasObjects = try json.flag("hasObjects") ?? false
    }

    func write(to json: inout JSONWriter) {
        json.member("epoch", String(epoch, radix: 16))
        json.member("tokenKey", Data(tokenKey).base64EncodedString())
        json.member("lastRealm", integer: Int64(lastRealm))
        json.member("lastDatabase", integer: Int64(lastDatabase))
        if hasObjects { json.member("hasObjects", flag: true) }
    }
}

extension HubWriting {
    /// The hub's state, which is made if there is none.
    ///
    /// - Parameters:
    ///   - hasObjects: Whether files may come to be objects from now on.
    ///   - secret: Returns bytes that can't be guessed.
    func openState(hasObjects: Bool, _ secret: (_ count: Int) -> [UInt8]) throws -> StateRow {
        let known: StateRow? = try row(StateRow.key)
        if let known, known.hasObjects || !hasObjects { return known }
        var state =
            known
            ?? StateRow(
                epoch: secret(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, tokenKey: secret(32))
        state.hasObjects = hasObjects
        try put(StateRow.key, state)
        return state
    }
}

extension JSONObject {
    /// A number of 32 bits that must be there.
    func number32(_ name: String) throws(WireFormatError) -> UInt32 {
        guard let number = try integer(name), let number = UInt32(exactly: number) else {
            throw JSONObject.missing(name)
        }
        return number
    }

    /// A number of 64 bits that must be there.
    func number64(_ name: String) throws(WireFormatError) -> UInt64 {
        guard let number = try integer(name), let number = UInt64(exactly: number) else {
            throw JSONObject.missing(name)
        }
        return number
    }
}

extension HubObjects {
    /// The key of the row that says whether a hub has files in a bucket.
    package static let stateKey = StateRow.key

    /// Throws if a hub that has files in a bucket is not given it.
    ///
    /// - Parameter row: What is stored under ``stateKey``; nil if nothing is.
    package static func check(storedState row: [UInt8]?, hasBucket: Bool) throws {
        guard let row, !hasBucket, try StateRow(stored: row).hasObjects else { return }
        throw bucketMissing
    }
}

extension SnapshotStorage {
    /// Throws if the hub that has files in a bucket is not given it. Nothing is changed.
    package func checkBucket(isGiven: Bool) throws {
        try HubObjects.check(
            storedState: snapshot(RequestWork()) { try $0.value(StateRow.key) }, hasBucket: isGiven)
    }
}
