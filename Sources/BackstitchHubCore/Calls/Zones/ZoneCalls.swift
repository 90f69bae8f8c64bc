/// The calls about zones.
struct ZoneCalls: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let assets: any HubFiles
    let feeds: WatchedFeeds
    let notifier: Notifier
}
