import CloudKitWire

extension HubReading {
    /// How many subscriptions a user has in a database.
    func subscriptionCount(of user: String, _ access: DatabaseAccess) throws -> Int {
        var count = 0
        let prefix = SubscriptionRow.prefix(access.partition, user: user)
        try unsafe scan(prefix, from: nil) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// The subscriptions of a user in a database.
    func subscriptions(
        of user: String, _ access: DatabaseAccess
    ) throws -> [SubscriptionRow] {
        let prefix = SubscriptionRow.prefix(access.partition, user: user)
        expect { [.first(KeyQuery.entriesPerPart, of: prefix)] }
        return try rows(under: prefix, as: SubscriptionRow.self)
            .map(\.row).filter { $0.userRecordName == user }
    }
}
