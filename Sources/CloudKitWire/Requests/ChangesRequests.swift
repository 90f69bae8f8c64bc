/// The body of `changes/database`, and of `zones/changes`, whose token has another key.
package struct DatabaseChangesRequest: Hashable, Sendable, WireBody {
    package var syncToken: String?
    package var metaSyncToken: String?
    package var resultsLimit: Int64?

    package init(
        syncToken: String? = nil, metaSyncToken: String? = nil, resultsLimit: Int64? = nil
    ) {
        self.syncToken = syncToken
        self.metaSyncToken = metaSyncToken
        self.resultsLimit = resultsLimit
    }

    package init(json: JSONObject) throws(WireFormatError) {
        syncToken = try json.text("syncToken")
        metaSyncToken = try json.text("metaSyncToken")
        resultsLimit = try json.integer("resultsLimit")
    }

    package func write(to json: inout JSONWriter) {
        json.member("syncToken", syncToken)
        json.member("metaSyncToken", metaSyncToken)
        json.member("resultsLimit", integer: resultsLimit)
    }
}

/// What is asked of one zone's feed: an item of `changes/zone`, and the body of `records/changes`.
package struct ZoneFeedRequest: Hashable, Sendable, WireBody {
    package var zoneID: WireZoneID
    package var syncToken: String?
    package var resultsLimit: Int64?
    /// The fields that records carry; nil for all.
    package var desiredKeys: [String]?
    /// The types of the records that are told; nil for all.
    package var desiredRecordTypes: [String]?
    /// Whether the latest change comes first.
    package var isReverse: Bool?
    package var numbersAsStrings: Bool?

    package init(
        zoneID: WireZoneID, syncToken: String? = nil, resultsLimit: Int64? = nil,
        desiredKeys: [String]? = nil, desiredRecordTypes: [String]? = nil
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
        self.desiredKeys = desiredKeys
        self.desiredRecordTypes = desiredRecordTypes
    }

    package init(json: JSONObject) throws(WireFormatError) {
        let zone = try json.object("zoneID")
        try self.init(json: json, zoneID: WireZoneID(json: zone ?? .empty))
    }

    init(json: JSONObject, zoneID: WireZoneID) throws(WireFormatError) {
        self.zoneID = zoneID
        syncToken = try json.text("syncToken")
        resultsLimit = try json.integer("resultsLimit")
        desiredKeys = try json.texts("desiredKeys")
        desiredRecordTypes = try json.texts("desiredRecordTypes")
        isReverse = try json.flag("reverse")
        numbersAsStrings = try json.flag("numbersAsStrings", "numberAsStrings")
    }

    package func write(to json: inout JSONWriter) {
        json.member("zoneID", zoneID)
        json.member("syncToken", syncToken)
        json.member("resultsLimit", integer: resultsLimit)
        json.member("desiredKeys", texts: desiredKeys)
        json.member("desiredRecordTypes", texts: desiredRecordTypes)
        json.member("reverse", flag: isReverse)
        json.member("numbersAsStrings", flag: numbersAsStrings)
    }

    /// Takes over what is asked of all zones if it is not told for this one.
    mutating func fill(from common: ZoneFeedRequest) {
        resultsLimit = resultsLimit ?? common.resultsLimit
        desiredKeys = desiredKeys ?? common.desiredKeys
        desiredRecordTypes = desiredRecordTypes ?? common.desiredRecordTypes
        isReverse = isReverse ?? common.isReverse
        numbersAsStrings = numbersAsStrings ?? common.numbersAsStrings
    }
}

/// The body of `changes/zone`.
package struct ZoneChangesRequest: Hashable, Sendable, WireBody {
    /// The zones, with what the body says of all of them filled in.
    package var zones: [ZoneFeedRequest]

    package init(zones: [ZoneFeedRequest]) { self.zones = zones }

    package init(json: JSONObject) throws(WireFormatError) {
        zones = try json.requiredObjects("zones", ZoneFeedRequest.init(json:))
        let common = try ZoneFeedRequest(json: json, zoneID: WireZoneID())
        for index in zones.indices { zones[index].fill(from: common) }
    }

    package func write(to json: inout JSONWriter) {
        json.member("zones", bodies: zones)
    }
}
