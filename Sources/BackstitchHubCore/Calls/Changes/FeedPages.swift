import BackstitchCore
import CloudKitWire

extension FeedCalls {
    /// Where a page of a zone's feed begins.
    struct PageStart {
        var feed: ZoneFeed
        var token: FeedToken
        var limits: ZoneFeed.PageLimits
        /// The last commit of the database.
        var mark: FeedMark
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
        let database = try zoneNumbers.database(access, transaction)
        var token = FeedToken(
            .zone, access.partition, zone: zone.number, origin: zone.sequence,
            sequence: request.isReverse == true ? zone.sequence + 1 : 0, mark: database.mark)
        if let text = request.syncToken {
            token = try FeedToken.read(
                text, of: zone, database, access, state, transaction, watch)
        }
        return PageStart(
            feed: ZoneFeed(zone: zone, partition: access.partition, transaction: transaction),
            token: token, limits: ZoneFeed.PageLimits(count: count, bytes: bytes),
            mark: database.mark, state: state)
    }

    /// What is read for pages of feeds, as far as requests tell it.
    func expected(_ feeds: [ZoneFeedRequest], _ call: HubCall, _ access: DatabaseAccess)
        -> [KeyQuery]
    {
        let pages = feeds.compactMap { feed -> KeyQuery? in
            guard
                let place = zoneNumbers.place(of: feed.zoneID.zoneName, in: access.partition),
                let count = try? configuration.limits.pageCount(feed.resultsLimit, call.extensions)
            else { return nil }
            let position = feed.syncToken.flatMap(FeedToken.position)
            return feed.isReverse == true
                ? ZoneFeed.query(place, before: position ?? .max, countMax: count)
                : ZoneFeed.query(place, after: position ?? 0, countMax: count)
        }
        let hasToken = feeds.contains { $0.syncToken != nil }
        return hasToken ? pages + [.key(FeedHistory.key(access.partition))] : pages
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
        // A page backwards begins behind the last change, and may be empty.
        token.sequence = min(end.sequence, start.feed.zone.sequence)
        token.mark = start.mark
        json.member("syncToken", token.text(start.state))
        json.member("moreComing", flag: end.moreComing)
        return end.bytes
    }
}
