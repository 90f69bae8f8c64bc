import CloudKitWire

/// The body of `zones/getCurrentSyncToken`.
struct CurrentSyncTokenRequest: Hashable, Sendable, WireBody {
    /// Whose feed is meant; nil for the list of the database's changed zones.
    var zoneID: WireZoneID?

    init(json: JSONObject) throws(WireFormatError) {
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
    }

    func write(to json: inout JSONWriter) { json.member("zoneID", zoneID) }
}

extension FeedCalls {
    /// Where a feed ends, for who wants only what changes from now on: `zones/getCurrentSyncToken`.
    func currentSyncToken(
        _ request: CurrentSyncTokenRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        transaction.expect(zones: request.zoneID.map { [$0] } ?? [], access)
        let database = try transaction.database(access)
        let token: FeedToken
        if let id = request.zoneID {
            token = FeedToken(
                endOf: try zoneWithFeed(id, access, transaction), of: database,
                in: access.partition)
        } else {
            token = FeedToken(
                .database, access.partition, origin: database.sequence,
                sequence: database.sequence, mark: database.mark)
        }
        let text = token.text(try transaction.state())
        return .object { $0.member("syncToken", text) }
    }
}
