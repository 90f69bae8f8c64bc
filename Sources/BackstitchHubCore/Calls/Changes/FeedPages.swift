import BackstitchCore
import CloudKitWire

extension FeedCalls {
    /// Where a page of a zone's feed begins.
    struct PageStart {
        var feed: ZoneFeed
        var token: FeedToken
        var limits: ZoneFeed.PageLimits
        var state: StateRow
    }

    /// A zone that is there and has a feed.
    func zoneWithFeed(
        _ id: WireZoneID, _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> ZoneRow {
        let zone = try zoneNumbers.zone(id, access, transaction)
        guard !zone.isDefault else {
            throw WireError(.badRequest, "cannot get changes in default zone")
        }
        return zone
    }

    /// Where the page begins that a request asks for.
    func pageStart(
        of request: ZoneFeedRequest, bytes: Int, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> PageStart {
        let zone = try zoneWithFeed(request.zoneID, access, transaction)
        let count = try configuration.limits.pageCount(request.resultsLimit, call.extensions)
        let state = try transaction.state()
        var token = FeedToken(
            .zone, access.partition, zone: zone.number, origin: zone.sequence,
            sequence: request.isReverse == true ? zone.sequence + 1 : 0)
        if let text = request.syncToken {
            token = try Self.token(
                text, .zone, access.partition, zone: zone.number, position: zone.sequence,
                floor: zone.floor, state)
        }
        return PageStart(
            feed: ZoneFeed(zone: zone, partition: access.partition, transaction: transaction),
            token: token,
            limits: ZoneFeed.PageLimits(count: count, bytes: bytes), state: state)
    }

    /// What is read for pages of feeds, as far as requests tell it.
    func expected(_ feeds: [ZoneFeedRequest], _ call: HubCall, _ access: DatabaseAccess)
        -> [KeyQuery]
    {
        feeds.compactMap { feed in
            guard
                let place = zoneNumbers.place(of: feed.zoneID.zoneName, in: access.partition),
                let count = try? configuration.limits.pageCount(feed.resultsLimit, call.extensions)
            else { return nil }
            let position = feed.syncToken.flatMap(FeedToken.position)
            return feed.isReverse == true
                ? ZoneFeed.query(place, before: position ?? .max, countMax: count)
                : ZoneFeed.query(place, after: position ?? 0, countMax: count)
        }
    }

    /// Writes a page and tells how many bytes of fields it has.
    func writePage(
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
                if let types, !record.isDeleted, unsafe !types.contains(record.recordType.text) {
                    return 0
                }
                let start = json.byteCount
                unsafe reply.write(record, named: name, to: &json)
                return json.byteCount - start
            }
            return unsafe request.isReverse == true
                ? try start.feed.visit(before: start.token.sequence, limits, visit)
                : try start.feed.visit(after: start.token.sequence, limits, visit)
        }
        var token = start.token
        token.sequence = end.sequence
        json.member("syncToken", token.text(start.state))
        json.member("moreComing", flag: end.moreComing)
        return end.bytes
    }

    /// Reads the token of a request.
    static func token(
        _ text: String, _ kind: FeedToken.Kind, _ partition: Partition, zone: UInt32 = 0,
        position: UInt64, floor: UInt64, _ state: StateRow
    ) throws(WireError) -> FeedToken {
        do throws(FeedToken.Failure) {
            return try FeedToken(
                text, kind, partition, zone: zone, position: position, floor: floor, state)
        } catch {
            switch error {
            case .invalidFormat: throw WireError(.badRequest, "Invalid continuation format")
            case .otherEpoch where kind == .zone:
                // The zone that the client knows is lost, and another one is there by its name. So a
                // client sends what it has; of an expired token it would take what is missing for
                // deleted, and a restore would take it from all devices.
                throw WireError(.zoneNotFound, "Zone does not exist")
            case .unknown, .otherEpoch:
                throw WireError(.badRequest, "Unknown sync continuation type")
            }
        }
    }
}
