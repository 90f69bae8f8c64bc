import BackstitchCore
import CloudKitWire

/// Writes records as replies tell them.
struct RecordReply {
    /// The fields that are wanted; nil for all.
    var desiredKeys: Set<String>?
    /// The zone that records name; nil for none.
    var zoneID: WireZoneID?
    /// The addresses of files.
    var addresses: AssetAddresses
    /// A name of the record that is good in addresses; nil if none was asked for.
    var shortGUID: String?

    /// Writes a record, or what is left of one, as an element.
    ///
    /// The fields are stored as replies have them, and mostly go out as they are.
    func write(
        _ record: some RecordContent, named name: some ReplyText, to json: inout JSONWriter
    ) {
        json.object { json in
            name.write(as: "recordName", to: &json)
            if !record.recordType.isEmpty { record.recordType.write(as: "recordType", to: &json) }
            record.changeTag.write(as: "recordChangeTag", to: &json)
            if record.isDeleted {
                json.member("deleted", flag: true)
                json.member("zoneID", zoneID)
                return
            }
            unsafe record.withFieldsJSON {
                unsafe writeFields($0, hasAssets: record.hasAssets, to: &json)
            }
            if !record.parent.isEmpty {
                json.object("parent") { record.parent.write(as: "recordName", to: &$0) }
            }
            json.member("shortGUID", shortGUID)
            Self.write("created", record.created, record.createdBy, to: &json)
            Self.write("modified", record.modified, record.modifiedBy, to: &json)
            json.member("deleted", flag: false)
            json.member("zoneID", zoneID)
        }
    }

    /// Writes a record in memory.
    func write(_ record: StoredRecord, to json: inout JSONWriter) {
        write(record, named: record.recordName, to: &json)
    }

    private static func write(
        _ name: String, _ milliseconds: Int64, _ user: some ReplyText, to json: inout JSONWriter
    ) {
        json.object(name) { json in
            json.member("timestamp", integer: milliseconds)
            user.write(as: "userRecordName", to: &json)
            json.member("deviceID", StoredRecord.deviceID)
        }
    }

    private func writeFields(
        _ stored: UnsafeRawBufferPointer, hasAssets: Bool, to json: inout JSONWriter
    ) {
        if desiredKeys == nil, !json.numbersAsStrings, !hasAssets {
            return unsafe json.member("fields", raw: stored)
        }
        if desiredKeys?.isEmpty == true { return json.object("fields") { _ in } }
        // The checksum of the stored record was right, so that its fields can be read.
        var fields = unsafe (try? WireRecord.fields(body: Array(stored))) ?? [:]
        if let desiredKeys { fields = fields.filter { desiredKeys.contains($0.key) } }
        for (name, field) in fields {
            guard let value = field.value else { continue }
            fields[name]?.value = addresses.adding(to: value)
        }
        json.object("fields") { fields.write(to: &$0) }
    }
}

/// What replies tell of a record: of one in memory, or of one that still lies in the storage.
protocol RecordContent {
    associatedtype Text: ReplyText

    var isDeleted: Bool { get }
    var hasAssets: Bool { get }
    /// Milliseconds since 1970, as ``modified``.
    var created: Int64 { get }
    var modified: Int64 { get }
    /// Empty if it is not known: of a record that was deleted before it was made.
    var recordType: Text { get }
    var changeTag: Text { get }
    var createdBy: Text { get }
    var modifiedBy: Text { get }
    /// Empty for none.
    var parent: Text { get }

    /// Gives a closure the fields as they are stored, a JSON object.
    func withFieldsJSON(_ body: (UnsafeRawBufferPointer) -> Void)
}

extension StoredRecord: RecordContent {
    func withFieldsJSON(_ body: (UnsafeRawBufferPointer) -> Void) {
        unsafe fieldsJSON.withUnsafeBytes(body)
    }
}

extension StoredRecordView: @unsafe RecordContent {
    func withFieldsJSON(_ body: (UnsafeRawBufferPointer) -> Void) { unsafe body(fieldsJSON) }
}

/// Text of a record.
protocol ReplyText {
    var isEmpty: Bool { get }

    func write(as name: String, to json: inout JSONWriter)
}

extension String: ReplyText {
    func write(as name: String, to json: inout JSONWriter) { json.member(name, self) }
}

/// Bytes of UTF-8.
extension UnsafeRawBufferPointer: @unsafe ReplyText {
    func write(as name: String, to json: inout JSONWriter) { unsafe json.member(name, utf8: self) }
}
