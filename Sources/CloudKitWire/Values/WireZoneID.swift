/// The name of a zone.
package struct WireZoneID: Hashable, Sendable, WireBody {
    /// The zone that every database has.
    package static let defaultZoneName = "_defaultZone"

    package var zoneName: String
    /// The record name of the owner; nil for the caller.
    package var ownerRecordName: String?
    /// `DEFAULT_ZONE` or `REGULAR_CUSTOM_ZONE`; in replies only.
    package var zoneType: String?

    package init(
        _ zoneName: String = WireZoneID.defaultZoneName, ownerRecordName: String? = nil,
        zoneType: String? = nil
    ) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
        self.zoneType = zoneType
    }

    package init(json: JSONObject) throws(WireFormatError) {
        zoneName = try json.text("zoneName") ?? Self.defaultZoneName
        ownerRecordName = try json.text("ownerRecordName")
        zoneType = try json.text("zoneType")
    }

    package func write(to json: inout JSONWriter) {
        json.member("zoneName", zoneName)
        json.member("ownerRecordName", ownerRecordName)
        json.member("zoneType", zoneType)
    }
}

/// A zone as replies tell it.
package struct WireZone: Hashable, Sendable, WireBody {
    package var zoneID: WireZoneID
    package var syncToken: String?
    package var isAtomic: Bool?
    package var isDeleted: Bool

    package init(
        zoneID: WireZoneID, syncToken: String? = nil, isAtomic: Bool? = nil,
        isDeleted: Bool = false
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.isAtomic = isAtomic
        self.isDeleted = isDeleted
    }

    package init(json: JSONObject) throws(WireFormatError) {
        zoneID = try WireZoneID(json: json.requiredObject("zoneID"))
        syncToken = try json.text("syncToken")
        isAtomic = try json.flag("atomic")
        isDeleted = try json.flag("deleted") ?? false
    }

    package func write(to json: inout JSONWriter) {
        json.member("zoneID", zoneID)
        json.member("syncToken", syncToken)
        json.member("atomic", flag: isAtomic)
        if isDeleted { json.member("deleted", flag: true) }
    }
}
