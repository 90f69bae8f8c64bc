import CloudKitWire

/// Writes records as replies tell them.
struct RecordReply {
    /// The fields that are wanted; nil for all.
    var desiredKeys: Set<String>?
    /// The zone that records name; nil for none.
    var zoneID: WireZoneID?
    /// The addresses of files.
    var addresses: AssetAddresses

    /// Writes a record, or what is left of one, as an element.
    ///
    /// The fields are stored as replies have them, and mostly go out as they are.
    func write(_ record: StoredRecord, to json: inout JSONWriter) {
        json.object { json in
            json.member("recordName", record.recordName)
            json.member("recordType", record.recordType.isEmpty ? nil : record.recordType)
            json.member("recordChangeTag", record.changeTag)
            if record.isDeleted {
                json.member("deleted", flag: true)
                json.member("zoneID", zoneID)
                return
            }
            writeFields(record, to: &json)
            if !record.parent.isEmpty {
                json.object("parent") { $0.member("recordName", record.parent) }
            }
            Self.write("created", record.created, record.createdBy, to: &json)
            Self.write("modified", record.modified, record.modifiedBy, to: &json)
            json.member("deleted", flag: false)
            json.member("zoneID", zoneID)
        }
    }

    private static func write(
        _ name: String, _ milliseconds: Int64, _ user: String, to json: inout JSONWriter
    ) {
        json.object(name) { json in
            json.member("timestamp", integer: milliseconds)
            json.member("userRecordName", user)
            json.member("deviceID", StoredRecord.deviceID)
        }
    }

    private func writeFields(_ record: StoredRecord, to json: inout JSONWriter) {
        let isAsStored = desiredKeys == nil && !json.numbersAsStrings && !record.hasAssets
        if isAsStored || desiredKeys?.isEmpty == true {
            let empty: [UInt8] = Array("{}".utf8)
            let fields = isAsStored ? record.fieldsJSON : empty
            fields.withUnsafeBytes { json.member("fields", raw: $0) }
            return
        }
        // The checksum of the stored record was right, so that its fields can be read.
        var fields = (try? record.fields()) ?? [:]
        if let desiredKeys { fields = fields.filter { desiredKeys.contains($0.key) } }
        for (name, field) in fields {
            guard let value = field.value else { continue }
            fields[name]?.value = addresses.adding(to: value)
        }
        json.object("fields") { fields.write(to: &$0) }
    }
}

extension HubResponse {
    /// A reply whose members a closure writes.
    static func object(
        numbersAsStrings: Bool = false, _ members: (inout JSONWriter) -> Void
    ) -> HubResponse {
        var json = JSONWriter(numbersAsStrings: numbersAsStrings)
        json.object(members)
        return .json(json.bytes)
    }
}
