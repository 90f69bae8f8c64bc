import Backstitch
import BackstitchCore
import BackstitchTesting
import CloudKitRecordService
import Foundation
import Threading

/// The service of the story of files.
protocol AssetDemoService {
    /// What it is, for the story.
    var title: String { get }
    /// A connection for a device.
    func connection(device: String) throws -> any RecordService
    /// Has the first upload be cut; nil if the device has to stop by itself.
    func cutFirstUpload(of device: any RecordService) -> Bool
    /// The bytes of the bodies of all uploads, and how many were gone on with.
    var sent: (bytes: Int64, resumed: Int) { get }
    /// The files that the service keeps although no record holds them; 0 where it keeps them for a while.
    var orphans: Int { get }
}

/// A service in memory.
struct SimulatedAssetService: AssetDemoService {
    private let cloud = SimulatedCloud()
    /// After how many bytes the first upload is cut.
    private static let cutBytes = 300_000

    let title = "a service in this process"

    func connection(device: String) -> any RecordService { cloud.connection(device: device) }

    func cutFirstUpload(of device: any RecordService) -> Bool {
        (device as? SimulatedRecordService)?.failUploads([.cut(afterBytes: Self.cutBytes)])
        return true
    }

    var sent: (bytes: Int64, resumed: Int) { (cloud.uploadedFileBytes, cloud.resumedUploads) }

    var orphans: Int {
        cloud.expireReceipts()
        cloud.collectFiles()
        return cloud.orphanedFileCount
    }
}

/// A hub in a process of its own.
final class HubAssetService: AssetDemoService {
    private let process: HubProcess
    private let services = Locked<[CloudKitRecordService]>([])
    /// The bytes of a part: small, so that a cut comes in the middle of a file.
    private static let partBytes = 256 << 10

    init(_ process: HubProcess) { self.process = process }

    var title: String { "a hub in a process of its own" }

    func connection(device: String) throws -> any RecordService {
        let hub = process.hub
        var configuration = CloudKitConfiguration(
            container: hub.container, environment: hub.environment,
            credentials: .user(
                apiToken: hub.apiToken, webAuthToken: WebAuthToken(try hub.webAuthToken)))
        guard let url = URL(string: hub.url) else { throw DemoFailure("The hub has no address.") }
        configuration.url = url
        configuration.uploadPartBytes = Self.partBytes
        let service = try CloudKitRecordService(configuration)
        services.withLock { $0.append(service) }
        return service
    }

    func cutFirstUpload(of device: any RecordService) -> Bool { false }

    var sent: (bytes: Int64, resumed: Int) {
        services.withLock { services in
            (
                services.reduce(0) { $0 + $1.sentFileBytes },
                services.reduce(0) { $0 + $1.resumedUploads }
            )
        }
    }

    let orphans = 0
}
