import CloudKitWire

extension FeedCalls {
    /// The zones that changed.
    ///
    /// - Parameters:
    ///   - text: The token that the client has; nil for all zones.
    ///   - tokenName: What the reply calls the next one.
    func changedZones(
        after text: String?, tokenName: String, _ resultsLimit: Int64?, _ call: HubCall,
        _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> HubResponse {
        let count = try configuration.limits.pageCount(resultsLimit, call.extensions)
        transaction.expect(zones: [], access) {
            let position = text.flatMap(FeedToken.position) ?? 0
            return [
                Self.changes(access, after: position, countMax: count),
                .key(FeedHistory.key(access.partition)),
            ]
        }
        let database = try transaction.database(access)
        let state = try transaction.state()
        var token = FeedToken(
            .database, access.partition, origin: database.sequence, sequence: 0,
            mark: database.mark)
        if let text {
            token = try FeedToken.read(text, of: nil, database, access, state, transaction)
            token.mark = database.mark
        }
        let (zones, moreComing) = try Self.changedZones(
            database, access, after: &token.sequence, count: count, transaction)
        return .object { json in
            json.member("zones", array: zones) { json, zone in
                json.object { zone.wireZone(database, access, state).write(to: &$0) }
            }
            json.member(tokenName, token.text(state))
            json.member("moreComing", flag: moreComing)
        }
    }

    /// What is read for a page of changed zones, and one more.
    private static func changes(
        _ access: DatabaseAccess, after position: UInt64, countMax: Int
    ) -> KeyQuery {
        let feed = HubKey(access.partition, .databaseFeed)
        return .first(
            countMax + 1, of: feed, from: feed.adding(position &+ 1),
            under: HubKey(access.partition, .zone))
    }

    private static func changedZones(
        _ database: DatabaseRow, _ access: DatabaseAccess, after position: inout UInt64, count: Int,
        _ transaction: any HubReading
    ) throws -> (zones: [ZoneRow], moreComing: Bool) {
        let prefix = HubKey(access.partition, .databaseFeed)
        var zones: [ZoneRow] = []
        var moreComing = false
        transaction.expect { [changes(access, after: position, countMax: count)] }
        try unsafe transaction.scan(prefix, from: prefix.adding(position + 1)) { _, value in
            let name = unsafe String(decoding: value, as: UTF8.self)
            guard zones.count < count else {
                moreComing = true
                return false
            }
            let zone: ZoneRow? = try transaction.row(ZoneRow.key(access.partition, name))
            if let zone { zones.append(zone) }
            return true
        }
        position = moreComing ? zones.last?.databaseSequence ?? position : database.sequence
        return (zones, moreComing)
    }
}
