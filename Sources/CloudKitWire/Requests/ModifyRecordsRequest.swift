import BackstitchCore

/// The body of `records/modify`.
package struct ModifyRecordsRequest: Hashable, Sendable, WireBody {
    package var operations: [WireRecordOperation]
    package var zoneID: WireZoneID?
    /// Whether all operations take effect or none; nil if it is not told.
    package var isAtomic: Bool?
    package var options: RecordOptions
    /// The token of the zone's feed that the client has, to be replaced; see
    /// ``WireExtension/tokenAfterModify``.
    package var syncToken: String?

    package init(
        operations: [WireRecordOperation], zoneID: WireZoneID? = nil, isAtomic: Bool? = nil,
        options: RecordOptions = RecordOptions(), syncToken: String? = nil
    ) {
        self.operations = operations
        self.zoneID = zoneID
        self.isAtomic = isAtomic
        self.options = options
        self.syncToken = syncToken
    }

    package init(json: JSONObject) throws(WireFormatError) {
        operations = try json.requiredObjects("operations", WireRecordOperation.init(json:))
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
        isAtomic = try json.flag("atomic")
        options = try RecordOptions(json: json)
        syncToken = try json.text("syncToken")
    }

    package func write(to json: inout JSONWriter) {
        json.member("operations", bodies: operations)
        json.member("zoneID", zoneID)
        json.member("atomic", flag: isAtomic)
        json.member("syncToken", syncToken)
        options.write(to: &json)
    }
}

/// One operation of `records/modify`.
package struct WireRecordOperation: Hashable, Sendable, WireBody {
    /// What to do, with the rules for tags of the reference's table of operation types.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Fails if there is a record of that name.
        case create
        /// Sets the given fields; the tag has to be the record's.
        case update
        /// As `update`, but ignores the tag, and creates the record if there is none.
        case forceUpdate
        /// Sets the given fields and clears all others; the tag has to be the record's.
        case replace
        /// As `replace`, but ignores the tag, and creates the record if there is none.
        case forceReplace
        /// Deletes the record; the tag has to be the record's.
        case delete
        /// Deletes the record whatever its tag.
        case forceDelete
    }

    package var kind: Kind
    package var record: WireRecord
    package var desiredKeys: [String]?
    /// A record that could not be read; nil if it could. It fails this operation, and the others go
    /// on.
    package var unreadable: Unreadable?

    /// A record of a request that can't be read, as it came.
    package struct Unreadable: Hashable, Sendable {
        /// What is wrong.
        package let message: String
        let json: String
    }

    package init(_ kind: Kind, _ record: WireRecord, desiredKeys: [String]? = nil) {
        self.kind = kind
        self.record = record
        self.desiredKeys = desiredKeys
    }

    package init(json: JSONObject) throws(WireFormatError) {
        let name = try json.requiredText("operationType")
        guard let kind = Kind(rawValue: name) else {
            throw WireFormatError("There is no operationType '\(name)'.")
        }
        let record = try json.requiredObject("record")
        self.kind = kind
        do throws(WireFormatError) {
            self.record = try WireRecord(json: record)
        } catch {
            self.record = WireRecord(recordName: record.value("recordName")?.text)
            var json = JSONWriter()
            json.value(record.item.value)
            let text = String(decoding: json.bytes, as: UTF8.self)
            unreadable = Unreadable(message: error.message, json: text)
        }
        // The reference puts the key into the record in one of its samples.
        desiredKeys = try json.texts("desiredKeys")
        if desiredKeys == nil { desiredKeys = try record.texts("desiredKeys") }
    }

    package func write(to json: inout JSONWriter) {
        json.member("operationType", kind.rawValue)
        if let unreadable {
            var text = unreadable.json
            json.element("record") { json in
                text.withUTF8 { unsafe json.raw(UnsafeRawBufferPointer($0)) }
            }
            return json.member("desiredKeys", texts: desiredKeys)
        }
        json.object("record") { json in
            json.member("recordName", record.recordName)
            json.member("recordType", record.recordType)
            json.member("recordChangeTag", record.recordChangeTag)
            if !record.fields.isEmpty { json.object("fields") { record.fields.write(to: &$0) } }
            if let parent = record.parent {
                json.object("parent") { json in
                    json.member("recordName", parent)
                    json.member("zoneID", record.parentZoneID)
                }
            }
            if record.createsShortGUID { json.member("createShortGUID", flag: true) }
        }
        json.member("desiredKeys", texts: desiredKeys)
    }
}
