/// The calls about records: look-up, query and change.
struct RecordCalls: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let assets: any HubFiles
    let address: HubAddress
    let zoneNumbers: ZoneNumbers
    let uploads: UploadBook
    let feeds: ListenedFeeds
    let once: OnceWriter
    let notifier: Notifier
    let sweeper: Sweeper
    let metrics: HubMetrics
}
