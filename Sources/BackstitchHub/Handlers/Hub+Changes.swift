import CloudKitWire

extension Hub {
    /// One zone's part of a reply about changes.
    private struct FeedPage {
        var records: [StoredRecord]
        var syncToken: String
        var moreComing: Bool
    }

    /// The feeds of several zones: `changes/zone`. What fails for one zone is told in its place.
    func zoneChanges(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        try checkFeeds(access)
        let request: ZoneChangesRequest = try call.decode()
        try checkCount(request.zones.count)
        return try storage.read { transaction in
            let addresses = try addresses(transaction)
            let items = try request.zones.map { feed -> (ZoneFeedRequest, FeedPage?, WireError?) in
                do {
                    return (feed, try page(feed, call, access, transaction), nil)
                } catch let error as WireError {
                    return (feed, nil, error)
                }
            }
            return .object { json in
                json.member("zones", array: items) { json, item in
                    let (feed, page, error) = item
                    json.object { json in
                        json.member("zoneID", access.wireID(feed.zoneID.zoneName))
                        guard let page else {
                            error?.write(to: &json)
                            return
                        }
                        Self.write(page, feed, addresses, to: &json)
                    }
                }
            }
        }
    }

    /// The feed of one zone: `records/changes`.
    func recordChanges(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        try checkFeeds(access)
        let feed: ZoneFeedRequest = try call.decode()
        return try storage.read { transaction in
            let addresses = try addresses(transaction)
            let page = try page(feed, call, access, transaction)
            return .object { Self.write(page, feed, addresses, to: &$0) }
        }
    }

    private func checkFeeds(_ access: DatabaseAccess) throws(WireError) {
        guard !access.isPublic else {
            throw WireError(.badRequest, "The public database has no change feed. Query it.")
        }
    }

    private func page(
        _ feed: ZoneFeedRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> FeedPage {
        let zone = try transaction.zone(feed.zoneID, access)
        guard !zone.isDefault else {
            throw WireError(.badRequest, "cannot get changes in default zone")
        }
        let count = try pageCount(feed.resultsLimit, call)
        let state = try transaction.state()
        let isReverse = feed.isReverse == true
        var token = FeedToken(
            .zone, owner: zone.number, origin: zone.sequence,
            sequence: isReverse ? zone.sequence + 1 : 0)
        if let text = feed.syncToken {
            token = try Self.token(
                text, .zone, owner: zone.number, position: zone.sequence, floor: zone.floor, state)
        }
        let stretch =
            isReverse
            ? try ZoneFeed(of: zone, before: token.sequence, count: count, transaction)
            : try ZoneFeed(
                of: zone, after: token.sequence, count: count,
                bytes: configuration.limits.pageBytes, transaction)
        token.sequence = stretch.sequence
        var records = stretch.records
        if let types = feed.desiredRecordTypes {
            records = records.filter { $0.isDeleted || types.contains($0.recordType) }
        }
        return FeedPage(
            records: records, syncToken: token.text(state), moreComing: stretch.moreComing)
    }

    private static func token(
        _ text: String, _ kind: FeedToken.Kind, owner: UInt32, position: UInt64, floor: UInt64,
        _ state: StateRow
    ) throws(WireError) -> FeedToken {
        do throws(FeedToken.Failure) {
            return try FeedToken(
                text, kind, owner: owner, position: position, floor: floor, state)
        } catch {
            let reason =
                switch error {
                case .invalidFormat: "Invalid continuation format"
                case .unknown: "Unknown sync continuation type"
                }
            throw WireError(.badRequest, reason)
        }
    }

    private static func write(
        _ page: FeedPage, _ feed: ZoneFeedRequest, _ addresses: AssetAddresses,
        to json: inout JSONWriter
    ) {
        json.member("syncToken", page.syncToken)
        json.member("moreComing", flag: page.moreComing)
        let reply = RecordReply(
            desiredKeys: feed.desiredKeys.map(Set.init), addresses: addresses)
        guard feed.numbersAsStrings == true else {
            json.member("records", array: page.records) { reply.write($1, to: &$0) }
            return
        }
        // Written by a writer of its own: the zones of one reply may differ in this.
        var records = JSONWriter(numbersAsStrings: true)
        records.array(page.records) { reply.write($1, to: &$0) }
        records.bytes.withUnsafeBytes { json.member("records", raw: $0) }
    }

    /// The zones that changed: `changes/database` and `zones/changes`.
    func databaseChanges(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        try checkFeeds(access)
        let request: DatabaseChangesRequest = try call.decode()
        let count = try pageCount(request.resultsLimit, call)
        let isMeta = call.path.endpoint == .zonesChanges
        return try storage.read { transaction in
            guard let database = try transaction.database(access) else {
                throw HubFailure("A database was not made before it was read.")
            }
            let state = try transaction.state()
            var token = FeedToken(
                .database, owner: database.number, origin: database.sequence, sequence: 0)
            if let text = isMeta ? request.metaSyncToken : request.syncToken {
                token = try Self.token(
                    text, .database, owner: database.number, position: database.sequence, floor: 0,
                    state)
            }
            let (zones, moreComing) = try Self.changedZones(
                database, after: &token.sequence, count: count, transaction)
            return .object { json in
                json.member("zones", array: zones) { json, zone in
                    json.object { Self.wireZone(zone, access, state).write(to: &$0) }
                }
                json.member(isMeta ? "metaSyncToken" : "syncToken", token.text(state))
                json.member("moreComing", flag: moreComing)
            }
        }
    }

    private static func changedZones(
        _ database: DatabaseRow, after position: inout UInt64, count: Int,
        _ transaction: any HubReading
    ) throws -> (zones: [ZoneRow], moreComing: Bool) {
        let prefix = HubKey(.databaseFeed).adding(database.number)
        var zones: [ZoneRow] = []
        var moreComing = false
        try transaction.scan(prefix, from: prefix.adding(position + 1)) { _, value in
            let name = String(decoding: value, as: UTF8.self)
            guard zones.count < count else {
                moreComing = true
                return false
            }
            if let zone: ZoneRow = try transaction.row(
                ZoneRow.key(database: database.number, name))
            {
                zones.append(zone)
            }
            return true
        }
        position = moreComing ? zones.last?.databaseSequence ?? position : database.sequence
        return (zones, moreComing)
    }

    /// A zone as replies tell it.
    static func wireZone(_ zone: ZoneRow, _ access: DatabaseAccess, _ state: StateRow) -> WireZone {
        let id = access.wireID(zone.zoneName)
        guard !zone.isDeleted else { return WireZone(zoneID: id, isDeleted: true) }
        guard !zone.isDefault else { return WireZone(zoneID: id, isAtomic: false) }
        let token = FeedToken(
            .zone, owner: zone.number, origin: zone.sequence, sequence: zone.sequence)
        return WireZone(zoneID: id, syncToken: token.text(state), isAtomic: true)
    }
}
