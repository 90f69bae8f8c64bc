/// The reply to `zones/list`, `zones/lookup`, `zones/modify`, `zones/changes` and
/// `changes/database`.
package struct ZonesResponse: Hashable, Sendable, WireBody {
    package var zones: [WireItem<WireZone>]
    package var syncToken: String?
    package var metaSyncToken: String?
    package var moreComing: Bool?

    package init(
        zones: [WireItem<WireZone>], syncToken: String? = nil, metaSyncToken: String? = nil,
        moreComing: Bool? = nil
    ) {
        self.zones = zones
        self.syncToken = syncToken
        self.metaSyncToken = metaSyncToken
        self.moreComing = moreComing
    }

    package init(json: JSONObject) throws(WireFormatError) {
        zones = try json.requiredObjects("zones", WireItem<WireZone>.init(json:))
        syncToken = try json.text("syncToken")
        metaSyncToken = try json.text("metaSyncToken")
        moreComing = try json.flag("moreComing")
    }

    package func write(to json: inout JSONWriter) {
        json.member("zones", bodies: zones)
        json.member("syncToken", syncToken)
        json.member("metaSyncToken", metaSyncToken)
        json.member("moreComing", flag: moreComing)
    }
}

/// One zone's part of the reply to `changes/zone`.
package typealias ZoneFeedPage = FeedPage<WireRecord>

/// One zone's part of a feed, with the records in the form in which they are read.
package struct FeedPage<Record: WireReply & Hashable & Sendable>: Hashable, Sendable, WireReply {
    package var zoneID: WireZoneID
    package var syncToken: String
    package var moreComing: Bool
    package var records: [WireItem<Record>]

    package init(
        zoneID: WireZoneID, syncToken: String, moreComing: Bool, records: [WireItem<Record>]
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.moreComing = moreComing
        self.records = records
    }

    package init(json: JSONObject) throws(WireFormatError) {
        zoneID = try WireZoneID(json: json.requiredObject("zoneID"))
        syncToken = try json.requiredText("syncToken")
        moreComing = try json.flag("moreComing") ?? false
        records = try json.objects("records", WireItem<Record>.init(json:)) ?? []
    }
}

extension FeedPage: WireRequest where Record: WireRequest {
    package func write(to json: inout JSONWriter) {
        json.member("zoneID", zoneID)
        json.member("syncToken", syncToken)
        json.member("moreComing", flag: moreComing)
        json.member("records", bodies: records)
    }
}

/// The reply to `changes/zone`.
package typealias ZoneChangesResponse = FeedPages<WireRecord>

/// The parts of a feed of several zones.
package struct FeedPages<Record: WireReply & Hashable & Sendable>: Hashable, Sendable, WireReply {
    package var zones: [WireItem<FeedPage<Record>>]

    package init(zones: [WireItem<FeedPage<Record>>]) { self.zones = zones }

    package init(json: JSONObject) throws(WireFormatError) {
        zones = try json.requiredObjects("zones", WireItem<FeedPage<Record>>.init(json:))
    }
}

extension FeedPages: WireRequest where Record: WireRequest {
    package func write(to json: inout JSONWriter) {
        json.member("zones", bodies: zones)
    }
}
