/// The reply to `records/modify`, `records/lookup`, `records/query` and `records/changes`.
package typealias RecordsResponse = RecordPage<WireRecord>

/// A list of records of a reply, in the form in which they are read.
package struct RecordPage<Record: WireReply & Hashable & Sendable>: Hashable, Sendable, WireReply {
    package var records: [WireItem<Record>]
    /// Where a query goes on; nil at its end.
    package var continuationMarker: String?
    /// Where the feed goes on.
    package var syncToken: String?
    package var moreComing: Bool?
    /// Whether the latest change comes first.
    package var isReverse: Bool?

    package init(
        records: [WireItem<Record>], continuationMarker: String? = nil,
        syncToken: String? = nil, moreComing: Bool? = nil
    ) {
        self.records = records
        self.continuationMarker = continuationMarker
        self.syncToken = syncToken
        self.moreComing = moreComing
    }

    package init(json: JSONObject) throws(WireFormatError) {
        records = try json.requiredObjects("records", WireItem<Record>.init(json:))
        continuationMarker = try json.text("continuationMarker")
        syncToken = try json.text("syncToken")
        moreComing = try json.flag("moreComing")
        isReverse = try json.flag("reverse")
    }
}

extension RecordPage: WireRequest where Record: WireRequest {
    package func write(to json: inout JSONWriter) {
        json.member("records", bodies: records)
        json.member("continuationMarker", continuationMarker)
        json.member("syncToken", syncToken)
        json.member("moreComing", flag: moreComing)
        json.member("reverse", flag: isReverse)
    }
}
