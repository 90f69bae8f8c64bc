import CloudKitWire

extension RecordCalls {
    /// Finds records: `records/query`.
    func queryRecords(
        _ request: QueryRecordsRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        let count = try configuration.limits.pageCount(request.resultsLimit, call.extensions)
        let runner = try QueryRunner(
            query: request.query, marker: request.continuationMarker, count: count,
            limits: configuration.limits)
        let zones: [ZoneRow]
        if request.zoneID == nil, request.isZoneWide {
            transaction.expect(zones: [], access) {
                [access.expectedZones(configuration.limits)]
            }
            zones = try transaction.zones(access)
        } else {
            let id = request.zoneID ?? WireZoneID()
            transaction.expect(zones: [id], access) {
                zoneNumbers.place(of: id.zoneName, in: access.partition)
                    .map { [runner.expected(in: $0, id.zoneName)] } ?? []
            }
            zones = [try zoneNumbers.zone(id, access, transaction)]
        }
        let page = try runner.run(zones, in: access.partition, transaction)
        let addresses = try address.addresses(access, transaction)
        let keys = request.options.desiredKeys.map(Set.init)
        let syncToken =
            try call.wantsSyncToken ? Self.syncToken(of: zones, access, transaction) : nil
        return .object(numbersAsStrings: request.options.numbersAsStrings) { json in
            // As replies have them, records may be larger than they are stored.
            let count = json.array("records") { json in
                var count = 0
                for entry in page.entries
                where count == 0 || json.byteCount < configuration.limits.pageBytes {
                    RecordReply(
                        desiredKeys: keys, zoneID: access.wireID(entry.zoneName),
                        addresses: addresses
                    ).write(entry.record, to: &json)
                    count += 1
                }
                return count
            }
            let hasMore = page.hasMore || count < page.entries.count
            json.member(
                "continuationMarker",
                hasMore && count > 0 ? page.entries[count - 1].marker : nil)
            json.member("syncToken", syncToken)
        }
    }

    /// Where the feed of the one zone stands that a query is about; nil if it has no feed.
    private static func syncToken(
        of zones: [ZoneRow], _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> String? {
        guard zones.count == 1, let zone = zones.first, !zone.isDefault else { return nil }
        let database = try transaction.database(access)
        return FeedToken(endOf: zone, of: database, in: access.partition)
            .text(try transaction.state())
    }
}
