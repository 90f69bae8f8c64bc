/// The calls about records: look-up, query and change.
///
/// It is a class because each call takes it along.
final class RecordCalls: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let assets: any HubFiles
    let address: HubAddress
    let zoneNumbers: ZoneNumbers
    let uploads: UploadQuota
    let feeds: WatchedFeeds
    let once: IdempotentWriter
    let notifier: Notifier
    let sweeper: ExpirySweeper
    let metrics: HubMetrics
    let watch: HistoryWatch

    init(
        configuration: HubConfiguration, storage: any HubStorage, assets: any HubFiles,
        address: HubAddress, zoneNumbers: ZoneNumbers, uploads: UploadQuota, feeds: WatchedFeeds,
        once: IdempotentWriter, notifier: Notifier, sweeper: ExpirySweeper, metrics: HubMetrics,
        watch: HistoryWatch
    ) {
        (self.configuration, self.storage, self.assets) = (configuration, storage, assets)
        (self.address, self.zoneNumbers, self.uploads) = (address, zoneNumbers, uploads)
        (self.feeds, self.once, self.notifier) = (feeds, once, notifier)
        (self.sweeper, self.metrics, self.watch) = (sweeper, metrics, watch)
    }
}
