/// The calls about what changed, in zones and in databases.
struct FeedCalls: Sendable {
    let configuration: HubConfiguration
    let address: HubAddress
    let zoneNumbers: ZoneNumbers
}
