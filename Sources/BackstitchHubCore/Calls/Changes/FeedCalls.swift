/// The calls about what changed, in zones and in databases.
///
/// It is a class because each call takes it along.
final class FeedCalls: Sendable {
    let configuration: HubConfiguration
    let address: HubAddress
    let zoneNumbers: ZoneNumbers
    let watch: HistoryWatch

    init(
        configuration: HubConfiguration, address: HubAddress, zoneNumbers: ZoneNumbers,
        watch: HistoryWatch
    ) {
        (self.configuration, self.address) = (configuration, address)
        (self.zoneNumbers, self.watch) = (zoneNumbers, watch)
    }
}
