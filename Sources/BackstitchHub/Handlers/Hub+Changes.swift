import CloudKitWire

extension Hub {
    /// Where a page of a zone's feed begins.
    private struct PageStart {
        var feed: ZoneFeed
        var token: FeedToken
        var limits: ZoneFeed.PageLimits
        var state: StateRow
    }

    /// The feeds of several zones: `changes/zone`. What fails for one zone is told in its place.
    func zoneChanges(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        try checkFeeds(access)
        let request: ZoneChangesRequest = try call.decode()
        try checkCount(request.zones.count)
        return try storage.read(call.work) { transaction in
            let addresses = try addresses(transaction)
            // Shared, so that a request for many zones gets no more than one for a single zone. Once the
            // reply is full, zones have empty pages with more to come.
            var bytesLeft = configuration.limits.pageBytes
            return try .object { json in
                try json.array("zones") { json in
                    for feed in request.zones {
                        try json.object { json in
                            json.member("zoneID", access.wireID(feed.zoneID.zoneName))
                            do {
                                let start = try start(
                                    of: feed, bytes: bytesLeft, call, access, transaction)
                                bytesLeft -= try self.write(feed, from: start, addresses, to: &json)
                            } catch let error as WireError {
                                error.write(to: &json)
                            }
                        }
                    }
                }
            }
        }
    }

    /// The feed of one zone: `records/changes`.
    func recordChanges(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        try checkFeeds(access)
        let feed: ZoneFeedRequest = try call.decode()
        return try storage.read(call.work) { transaction in
            let addresses = try addresses(transaction)
            let start = try start(
                of: feed, bytes: configuration.limits.pageBytes, call, access, transaction)
            return try .object { json in
                _ = try self.write(feed, from: start, addresses, to: &json)
                json.member("reverse", flag: feed.isReverse == true)
            }
        }
    }

    private func checkFeeds(_ access: DatabaseAccess) throws(WireError) {
        guard !access.isPublic else {
            throw WireError(.badRequest, "The public database has no change feed. Query it.")
        }
    }

    private func start(
        of request: ZoneFeedRequest, bytes: Int, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> PageStart {
        let zone = try transaction.zone(request.zoneID, access)
        guard !zone.isDefault else {
            throw WireError(.badRequest, "cannot get changes in default zone")
        }
        let count = try pageCount(request.resultsLimit, call)
        let state = try transaction.state()
        var token = FeedToken(
            .zone, owner: zone.number, origin: zone.sequence,
            sequence: request.isReverse == true ? zone.sequence + 1 : 0)
        if let text = request.syncToken {
            token = try Self.token(
                text, .zone, owner: zone.number, position: zone.sequence, floor: zone.floor, state)
        }
        return PageStart(
            feed: ZoneFeed(zone: zone, transaction: transaction), token: token,
            limits: ZoneFeed.PageLimits(count: count, bytes: bytes), state: state)
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

    /// Writes a page and tells how many bytes of fields it has.
    private func write(
        _ request: ZoneFeedRequest, from start: PageStart, _ addresses: AssetAddresses,
        to json: inout JSONWriter
    ) throws -> Int {
        let reply = RecordReply(
            desiredKeys: request.desiredKeys.map(Set.init), addresses: addresses)
        let types = request.desiredRecordTypes.map(Set.init)
        var limits = start.limits
        limits.replyBytes = configuration.limits.fullReplyBytes - json.byteCount
        // The zones of one reply may differ in this.
        json.numbersAsStrings = request.numbersAsStrings == true
        let end = try json.array("records") { json in
            func visit(_ name: UnsafeRawBufferPointer, _ record: StoredRecordView) -> Int {
                if let types, !record.isDeleted, !types.contains(record.recordType.text) {
                    return 0
                }
                let start = json.byteCount
                reply.write(record, named: name, to: &json)
                return json.byteCount - start
            }
            return request.isReverse == true
                ? try start.feed.visit(before: start.token.sequence, limits, visit)
                : try start.feed.visit(after: start.token.sequence, limits, visit)
        }
        var token = start.token
        token.sequence = end.sequence
        json.member("syncToken", token.text(start.state))
        json.member("moreComing", flag: end.moreComing)
        return end.bytes
    }

    /// The zones that changed: `changes/database` and `zones/changes`.
    func databaseChanges(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        try checkFeeds(access)
        let request: DatabaseChangesRequest = try call.decode()
        let count = try pageCount(request.resultsLimit, call)
        let isMeta = call.path.endpoint == .zonesChanges
        return try storage.read(call.work) { transaction in
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
