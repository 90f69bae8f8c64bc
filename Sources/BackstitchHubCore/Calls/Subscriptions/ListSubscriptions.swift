import CloudKitWire

extension SubscriptionCalls {
    /// The user's subscriptions in a database: `subscriptions/list`.
    func listSubscriptions(
        _ call: HubCall, _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> HubResponse {
        let user = try access.requiredAuthor
        let rows = try transaction.subscriptions(of: user, access)
        let items = rows.map { WireItem.value($0.subscription) }
        return .json(SubscriptionsResponse(subscriptions: items).body())
    }
}
