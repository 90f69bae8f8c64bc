import CloudKitWire

extension FeedCalls {
    /// The feeds of several zones: `changes/zone`. What fails for one zone is told in its place.
    func zoneChanges(
        _ request: ZoneChangesRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        try configuration.limits.checkCount(request.zones.count)
        transaction.expect(zones: request.zones.map(\.zoneID), access) {
            expected(request.zones, call, access)
        }
        let addresses = try address.addresses(access, transaction)
        // Shared, so that a request for many zones gets no more than one for a single zone. Once the
        // reply is full, zones have empty pages with more to come.
        var bytesLeft = configuration.limits.pageBytes
        return try .object { json in
            try json.array("zones") { json in
                for feed in request.zones {
                    try json.object { json in
                        json.member("zoneID", access.wireID(feed.zoneID.zoneName))
                        do {
                            let start = try pageStart(
                                of: feed, bytes: bytesLeft, call, access, transaction)
                            bytesLeft -= try self.writePage(
                                feed, from: start, addresses, to: &json)
                        } catch let error as WireError {
                            error.write(to: &json)
                        }
                    }
                }
            }
        }
    }
}
