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

/// The body of `assets/upload` (`tokens`) and of `assets/rereference` (`assets`).
package struct AssetsRequest: Hashable, Sendable, WireBody {
    package var places: [WireAssetPlace]
    package var zoneID: WireZoneID?
    /// Whether the places are to be uploaded to.
    package var isUpload: Bool

    package init(places: [WireAssetPlace], zoneID: WireZoneID? = nil, isUpload: Bool) {
        self.places = places
        self.zoneID = zoneID
        self.isUpload = isUpload
    }

    package init(json: JSONObject) throws(WireFormatError) {
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
        if let tokens = try json.objects("tokens", WireAssetPlace.init(json:)) {
            (places, isUpload) = (tokens, true)
        } else {
            places = try json.requiredObjects("assets", WireAssetPlace.init(json:))
            isUpload = false
        }
    }

    package func write(to json: inout JSONWriter) {
        json.member("zoneID", zoneID)
        json.member(isUpload ? "tokens" : "assets", bodies: places)
    }
}
