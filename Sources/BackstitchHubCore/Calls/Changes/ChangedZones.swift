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
            token = try FeedToken.read(
                text, of: nil, database, access, state, transaction, watch)
            token.mark = database.mark
        }
        let (zones, moreComing) = try Self.changedZones(
            access, &token, end: database.sequence, count: count, transaction)
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

    /// A page of changed zones, and whether more come. A zone that was deleted before the fetch that led to
    /// the token began is nothing to its holder.
    ///
    /// - Parameter token: Moves on to the end of the page.
    private static func changedZones(
        _ access: DatabaseAccess, _ token: inout FeedToken, end: UInt64, count: Int,
        _ transaction: any HubReading
    ) throws -> (zones: [ZoneRow], moreComing: Bool) {
        let prefix = HubKey(access.partition, .databaseFeed)
        let (start, origin) = (token.sequence, token.origin)
        var zones: [ZoneRow] = []
        var (looked, last, moreComing) = (0, start, false)
        transaction.expect { [changes(access, after: start, countMax: count)] }
        try unsafe transaction.scan(prefix, from: prefix.adding(start + 1)) { key, value in
            guard looked < count else {
                moreComing = true
                return false
            }
            looked += 1
            last = unsafe key.number(behind: prefix)
            let name = unsafe String(decoding: value, as: UTF8.self)
            let zone: ZoneRow? = try transaction.row(ZoneRow.key(access.partition, name))
            if let zone, !zone.isDeleted || last > origin { zones.append(zone) }
            return true
        }
        token.sequence = moreComing ? last : end
        return (zones, moreComing)
    }
}
