/// The calls about what changed, in zones and in databases.
///
/// It is a class because each call takes it along.
final class FeedCalls: Sendable {
    let configuration: HubConfiguration
    let address: HubAddress
    let zoneNumbers: ZoneNumbers

    init(configuration: HubConfiguration, address: HubAddress, zoneNumbers: ZoneNumbers) {
        (self.configuration, self.address) = (configuration, address)
        self.zoneNumbers = zoneNumbers
    }
}
