import CloudKitWire

extension FeedCalls {
    /// The feed of one zone: `records/changes`.
    func recordChanges(
        _ feed: ZoneFeedRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        transaction.expect(zones: [feed.zoneID], access) { expected([feed], call, access) }
        let addresses = try address.addresses(access, transaction)
        let start = try pageStart(
            of: feed, bytes: configuration.limits.pageBytes, call, access, transaction)
        return try .object { json in
            _ = try self.writePage(feed, from: start, addresses, to: &json)
            json.member("reverse", flag: feed.isReverse == true)
        }
    }
}
