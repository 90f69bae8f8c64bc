import BackstitchCore
import CloudKitWire
import XXHash

/// A record of a zone, or the tombstone that it left.
///
/// | bytes | what                                                             |
/// |-------|------------------------------------------------------------------|
/// | 1     | version of this layout: 1                                        |
/// | 1     | flags: 1 tombstone, 2 has assets, 4 has links                    |
/// | 8     | position in the zone's feed, little-endian                       |
/// | 8     | created, milliseconds since 1970, little-endian                  |
/// | 8     | modified, the same                                               |
/// | 1 + n | record type; a byte for the length before each text              |
/// | 1 + n | change tag                                                       |
/// | 1 + n | who created it                                                   |
/// | 1 + n | who modified it                                                  |
/// | 1 + n | record name of the parent; empty for none                        |
/// | n     | the fields as replies have them: a JSON object, keys in order    |
/// | 8     | XXH64 of all bytes before, little-endian                         |
struct StoredRecord: Hashable, Sendable {
    static let version: UInt8 = 1

    var recordName: String
    var recordType: String
    var changeTag = ""
    var isDeleted = false
    var hasAssets = false
    /// Whether the record refers to others in ways that the hub acts upon.
    var hasLinks = false
    var sequence: UInt64 = 0
    var created: Int64 = 0
    var modified: Int64 = 0
    var createdBy = ""
    var modifiedBy = ""
    var parent = ""
    /// The fields as replies have them.
    var fieldsJSON: [UInt8] = Array("{}".utf8)

    init(recordName: String, recordType: String) {
        self.recordName = recordName
        self.recordType = recordType
    }

    static func key(_ zone: ZonePlace, _ recordName: String) -> HubKey {
        zone.key(.record).adding(recordName)
    }

    /// Reads a stored record.
    init(recordName: String, stored: UnsafeRawBufferPointer) throws(HubError) {
        unsafe self.init(try StoredRecordView(stored), recordName: recordName)
    }

    /// Copies a record out of the storage.
    init(_ view: StoredRecordView, recordName: String) {
        self.recordName = recordName
        recordType = unsafe view.recordType.text
        changeTag = unsafe view.changeTag.text
        isDeleted = view.isDeleted
        hasAssets = view.hasAssets
        hasLinks = view.hasLinks
        sequence = view.sequence
        created = view.created
        modified = view.modified
        createdBy = unsafe view.createdBy.text
        modifiedBy = unsafe view.modifiedBy.text
        parent = unsafe view.parent.text
        fieldsJSON = unsafe Array(view.fieldsJSON)
    }

    /// The bytes that are stored.
    var stored: [UInt8] {
        var buffer = ByteBuffer(capacity: 128 + fieldsJSON.count)
        buffer.append(Self.version)
        buffer.append((isDeleted ? 1 : 0) | (hasAssets ? 2 : 0) | (hasLinks ? 4 : 0))
        buffer.append(little: sequence)
        buffer.append(little: created)
        buffer.append(little: modified)
        for text in [recordType, changeTag, createdBy, modifiedBy, parent] {
            precondition(text.utf8.count <= 255, "A text of a record is longer than its limit.")
            buffer.append(UInt8(text.utf8.count))
            buffer.append(utf8: text)
        }
        unsafe fieldsJSON.withUnsafeBytes { unsafe buffer.append($0) }
        unsafe buffer.append(little: Checksum.xxh64(buffer.bytes))
        return unsafe Array(buffer.bytes)
    }

    /// The fields as values.
    func fields() throws(HubError) -> WireFields {
        do throws(WireFormatError) {
            return try WireRecord.fields(body: fieldsJSON)
        } catch {
            throw StoredRecordView.damage
        }
    }
}
