import CloudKitWire

extension Hub {
    /// The user's subscriptions in a database: `subscriptions/list`.
    func listSubscriptions(
        _ call: HubCall, _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> HubResponse {
        let user = try author(of: access)
        let rows = try transaction.subscriptions(of: user, access)
        let items = rows.map { WireItem.value($0.subscription) }
        return .json(SubscriptionsResponse(subscriptions: items).body())
    }
}
