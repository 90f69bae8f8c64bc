/// The field of a record that holds, or is to hold, a file.
package struct WireAssetPlace: Hashable, Sendable, WireBody {
    package var recordName: String?
    package var recordType: String?
    package var fieldName: String

    package init(recordName: String?, recordType: String? = nil, fieldName: String) {
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
    }

    package init(json: JSONObject) throws(WireFormatError) {
        recordName = try json.text("recordName")
        recordType = try json.text("recordType")
        fieldName = try json.requiredText("fieldName")
    }

    package func write(to json: inout JSONWriter) {
        json.member("recordName", recordName)
        json.member("recordType", recordType)
        json.member("fieldName", fieldName)
    }
}

/// The body of `assets/upload`.
package struct UploadRequest: Hashable, Sendable, WireBody {
    package var places: [WireAssetPlace]
    package var zoneID: WireZoneID?

    package init(places: [WireAssetPlace], zoneID: WireZoneID? = nil) {
        self.places = places
        self.zoneID = zoneID
    }

    package init(json: JSONObject) throws(WireFormatError) {
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
        places = try json.requiredObjects("tokens", WireAssetPlace.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("zoneID", zoneID)
        json.member("tokens", bodies: places)
    }
}

/// The body of `assets/rereference`.
package struct RereferenceRequest: Hashable, Sendable, WireBody {
    package var places: [WireAssetPlace]
    package var zoneID: WireZoneID?

    package init(places: [WireAssetPlace], zoneID: WireZoneID? = nil) {
        self.places = places
        self.zoneID = zoneID
    }

    package init(json: JSONObject) throws(WireFormatError) {
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
        places = try json.requiredObjects("assets", WireAssetPlace.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("zoneID", zoneID)
        json.member("assets", bodies: places)
    }
}
