/// The calls about subscriptions.
struct SubscriptionCalls: Sendable {
    let configuration: HubConfiguration
    let once: IdempotentWriter
}
