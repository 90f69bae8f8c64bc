package import BackstitchCore

/// The body of `records/query`.
package struct QueryRecordsRequest: Hashable, Sendable, WireBody {
    package var query: ServiceQuery
    package var zoneID: WireZoneID?
    /// Whether all zones are searched if no zone is named.
    package var isZoneWide: Bool
    package var resultsLimit: Int64?
    package var continuationMarker: String?
    package var options: RecordOptions

    package init(
        query: ServiceQuery, zoneID: WireZoneID? = nil, isZoneWide: Bool = false,
        resultsLimit: Int64? = nil, continuationMarker: String? = nil,
        options: RecordOptions = RecordOptions()
    ) {
        self.query = query
        self.zoneID = zoneID
        self.isZoneWide = isZoneWide
        self.resultsLimit = resultsLimit
        self.continuationMarker = continuationMarker
        self.options = options
    }

    package init(json: JSONObject) throws(WireFormatError) {
        query = try ServiceQuery(json: json.requiredObject("query"))
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
        isZoneWide = try json.flag("zoneWide") ?? false
        resultsLimit = try json.integer("resultsLimit")
        continuationMarker = try json.text("continuationMarker")
        options = try RecordOptions(json: json)
    }

    package func write(to json: inout JSONWriter) {
        json.member("query", query)
        json.member("zoneID", zoneID)
        if isZoneWide { json.member("zoneWide", flag: true) }
        json.member("resultsLimit", integer: resultsLimit)
        json.member("continuationMarker", continuationMarker)
        options.write(to: &json)
    }
}
