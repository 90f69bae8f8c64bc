/// The calls about files, and the addresses that files go to and come from.
struct AssetCalls: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let assets: any HubFiles
    let address: HubAddress
    let zoneNumbers: ZoneNumbers
    let uploads: UploadQuota
    let arrived = ArrivedUploads()
    let once: IdempotentWriter
    let sweeper: ExpirySweeper
    /// Threads that wait for the disk.
    let disk: WorkPool
}
