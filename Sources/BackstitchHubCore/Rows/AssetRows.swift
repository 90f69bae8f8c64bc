import CloudKitWire
import WireCrypto

/// Where a file may be uploaded to, and by when.
struct UploadRow: HubRow, Hashable, Sendable {
    static let title = "an upload"

    /// The zone of the record.
    var zone: UInt32
    /// Record and field that the file is for; both empty if any of the zone may hold it.
    var recordName: String
    var fieldName: String
    /// Milliseconds since 1970.
    var expires: Int64
    /// The SHA-256 of what was uploaded, in hexadecimal digits.
    var checksum: String?
    /// Its size in bytes.
    var size: Int64?
    /// The most bytes that may come: the space that was left; nil for no limit.
    var bytesMax: Int64?

    /// Whether the file is for a field of a record.
    func isGood(for recordName: String, _ fieldName: String) -> Bool {
        let isForAny = self.recordName.isEmpty && self.fieldName.isEmpty
        return isForAny || self.recordName == recordName && self.fieldName == fieldName
    }

    /// The address of an upload ends in a token; the receipt is another. Neither is kept.
    static func key(_ partition: Partition, token: String) -> HubKey {
        HubKey(partition, .upload).adding(Digest.sha256("t" + token))
    }
    static func key(_ partition: Partition, receipt: String) -> HubKey {
        HubKey(partition, .upload).adding(Digest.sha256("r" + receipt))
    }

    init(zone: UInt32, recordName: String, fieldName: String, expires: Int64) {
        self.zone = zone
        self.recordName = recordName
        self.fieldName = fieldName
        self.expires = expires
    }

    init(json: JSONObject) throws(WireFormatError) {
        zone = try json.number32("zone")
        recordName = try json.requiredText("record")
        fieldName = try json.requiredText("field")
        expires = try json.integer("expires") ?? 0
        checksum = try json.text("checksum")
        size = try json.integer("size")
        bytesMax = try json.integer("bytesMax")
    }

    func write(to json: inout JSONWriter) {
        json.member("zone", integer: Int64(zone))
        json.member("record", recordName)
        json.member("field", fieldName)
        json.member("expires", integer: expires)
        json.member("checksum", checksum)
        json.member("size", integer: size)
        json.member("bytesMax", integer: bytesMax)
    }
}

/// How often the records of a database refer to a file, and until when it is kept at least.
struct AssetRow: HubRow, Hashable, Sendable {
    static let title = "an asset"

    var references: Int64 = 0
    /// Milliseconds since 1970.
    var keepUntil: Int64 = 0

    static func key(_ file: HubFile) -> HubKey {
        HubKey(file.partition, .asset).adding(file.checksum)
    }

    init() {}

    init(json: JSONObject) throws(WireFormatError) {
        references = try json.integer("references") ?? 0
        keepUntil = try json.integer("keepUntil") ?? 0
    }

    func write(to json: inout JSONWriter) {
        json.member("references", integer: references)
        json.member("keepUntil", integer: keepUntil)
    }
}
