import CloudKitWire

extension SubscriptionCalls {
    /// Subscriptions by id: `subscriptions/lookup`.
    func lookUpSubscriptions(
        _ request: LookupSubscriptionsRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        let user = try access.requiredAuthor
        try configuration.limits.checkCount(request.subscriptionIDs.count)
        let rows = Dictionary(
            try transaction.subscriptions(of: user, access)
                .map { ($0.subscription.subscriptionID, $0) }
        ) { first, _ in first }
        let items = request.subscriptionIDs.map { id -> WireItem<WireSubscription> in
            guard let row = rows[id] else {
                return .failure(
                    .subscription(id), WireError(.notFound, "Subscription not found"))
            }
            return .value(row.subscription)
        }
        return .json(SubscriptionsResponse(subscriptions: items).body())
    }
}
