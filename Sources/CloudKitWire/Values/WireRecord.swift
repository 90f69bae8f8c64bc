import BackstitchCore

/// A record, as requests and replies tell it.
package struct WireRecord: Hashable, Sendable {
    /// Who wrote a record and when.
    package struct Stamp: Hashable, Sendable {
        /// Milliseconds since 1970.
        package var timestamp: Int64
        package var userRecordName: String?
        package var deviceID: String?

        package init(timestamp: Int64, userRecordName: String?, deviceID: String? = nil) {
            self.timestamp = timestamp
            self.userRecordName = userRecordName
            self.deviceID = deviceID
        }
    }

    package var recordName: String?
    package var recordType: String?
    package var recordChangeTag: String?
    package var fields: WireFields = [:]
    /// The record name of the parent in a tree that is shared together.
    package var parent: String?
    /// The zone that a request names for the parent; it has to be the record's own.
    package var parentZoneID: WireZoneID?
    /// In requests: whether the reply is to carry a ``shortGUID``.
    package var createsShortGUID = false
    /// In replies: a name of the record that is good in addresses.
    package var shortGUID: String?
    package var created: Stamp?
    package var modified: Stamp?
    package var isDeleted = false
    package var zoneID: WireZoneID?

    package init(recordName: String?, recordType: String? = nil) {
        self.recordName = recordName
        self.recordType = recordType
    }
}

extension WireRecord: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        recordName = try json.text("recordName")
        recordType = try json.text("recordType")
        recordChangeTag = try json.text("recordChangeTag")
        if let fields = try json.object("fields") { self.fields = try WireFields(fieldsOf: fields) }
        let parent = try json.object("parent")
        self.parent = try parent?.requiredText("recordName")
        parentZoneID = try parent?.object("zoneID").map(WireZoneID.init(json:))
        createsShortGUID = try json.flag("createShortGUID") ?? false
        // Apple's text has an object here, and clients have text.
        shortGUID = json.value("shortGUID")?.text
        created = try json.object("created").map(Stamp.init(json:))
        modified = try json.object("modified").map(Stamp.init(json:))
        isDeleted = try json.flag("deleted") ?? false
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("recordName", recordName)
        json.member("recordType", recordType)
        json.member("recordChangeTag", recordChangeTag)
        if !isDeleted { json.object("fields") { fields.write(to: &$0) } }
        if let parent {
            json.object("parent") { json in
                json.member("recordName", parent)
                json.member("zoneID", parentZoneID)
            }
        }
        json.member("shortGUID", shortGUID)
        json.member("created", created)
        json.member("modified", modified)
        if isDeleted { json.member("deleted", flag: true) }
        json.member("zoneID", zoneID)
    }
}

extension WireRecord.Stamp: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        guard let timestamp = try json.integer("timestamp") else {
            throw JSONObject.missing("timestamp")
        }
        self.timestamp = timestamp
        userRecordName = try json.text("userRecordName")
        deviceID = try json.text("deviceID")
    }

    package func write(to json: inout JSONWriter) {
        json.member("timestamp", integer: timestamp)
        json.member("userRecordName", userRecordName)
        json.member("deviceID", deviceID)
    }
}

/// One item of a reply: what was asked for, or why not.
package enum WireItem<Value: WireReply & Hashable & Sendable>: Hashable, Sendable {
    case value(Value)
    /// The key names the item that failed: a record name, a zone, a subscription.
    case failure(WireItemKey, WireError)
}

/// What an item that failed was about.
package enum WireItemKey: Hashable, Sendable {
    case record(String?)
    case zone(WireZoneID?)
    case subscription(String?)
    case none
}

extension WireItem: WireReply {
    package init(json: JSONObject) throws(WireFormatError) {
        guard let error = try Self.error(of: json) else {
            self = .value(try Value(json: json))
            return
        }
        let key: WireItemKey
        if let zone = try json.object("zoneID") {
            key = .zone(try WireZoneID(json: zone))
        } else if let id = try json.text("subscriptionID", "subscriptionId") {
            key = .subscription(id)
        } else {
            key = .record(try json.text("recordName"))
        }
        self = .failure(key, error)
    }

    /// The error of an item that is one; nil for a record. A failure to read it names the record.
    private static func error(of json: JSONObject) throws(WireFormatError) -> WireError? {
        do throws(WireFormatError) {
            return try WireError(itemOf: json)
        } catch {
            guard let name = json.value("recordName")?.text else { throw error }
            throw WireFormatError(
                "The error of the record '\(name)' can't be read: \(error.message)")
        }
    }
}

extension WireItem: WireRequest where Value: WireRequest {
    package func write(to json: inout JSONWriter) {
        switch self {
        case .value(let value): value.write(to: &json)
        case .failure(let key, let error):
            switch key {
            case .record(let name): json.member("recordName", name)
            case .zone(let zone): json.member("zoneID", zone)
            case .subscription(let id): json.member("subscriptionID", id)
            case .none: break
            }
            error.write(to: &json)
        }
    }
}

extension WireRecord {
    /// Reads fields alone, as ``fieldsBody(_:)`` writes them.
    package static func fields(body: [UInt8]) throws(WireFormatError) -> WireFields {
        try WireFields(fieldsOf: JSONObject(body: body))
    }

    /// Writes fields alone: a JSON object with the keys in order.
    package static func fieldsBody(_ fields: WireFields) -> [UInt8] {
        var json = JSONWriter()
        json.object { fields.write(to: &$0) }
        return json.bytes
    }
}
