import Backstitch
import BackstitchTesting
import CloudKitRecordService

/// The service of the story.
protocol DemoCloud: Sendable {
    /// What it is, for the story.
    var title: String { get }
    /// The connection of a device.
    func connection(device: String) async throws -> any RecordService
}

/// A service in memory.
struct SimulatedDemoCloud: DemoCloud {
    /// Requests have the size that CloudKit allows. Pages are larger than its 200, as a service may
    /// announce: each page is a commit of its own, and their number decides how fast a pull is.
    private let cloud = SimulatedCloud(limits: ServiceLimits(recordsPerPage: 5_000))

    let title = "a service in this process"

    func connection(device: String) -> any RecordService { cloud.connection(device: device) }
}

/// A hub in a process of its own, over HTTP.
struct HubDemoCloud: DemoCloud {
    let process: HubProcess

    var title: String { "a hub, process \(process.id), at \(process.document.url)" }

    func connection(device: String) throws -> any RecordService {
        let document = process.document
        guard let user = document.users.first else {
            throw HubProcess.Failure(description: "The hub has no user.")
        }
        return try CloudKitRecordService(
            CloudKitConfiguration(
                url: document.url, container: document.container,
                environment: document.environment,
                credentials: .user(
                    apiToken: document.apiToken,
                    webAuthToken: WebAuthToken(user.webAuthToken))))
    }
}
