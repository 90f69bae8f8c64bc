import Backstitch
import BackstitchTesting
import CloudKitRecordService
import Foundation

/// The service of the story, and how devices that synchronise with it are made.
protocol DemoCloud {
    /// What it is, for the story.
    var title: String { get }

    /// A connection of this process.
    func connection(device: String) async throws -> any RecordService

    /// A device that has no records yet.
    func device<Record: DemoRecord>(
        _ name: String, at path: String, data: DemoData<Record>
    ) async throws -> any DemoDevice
}

/// A service in memory; the devices are in this process too.
struct SimulatedDemoCloud: DemoCloud {
    /// Requests have the size that CloudKit allows. Pages are larger than its 200, as a service may
    /// announce: each page is a commit of its own, and their number decides how fast a pull is.
    private let cloud = SimulatedCloud(limits: ServiceLimits(recordsPerPage: 5_000))

    let title = "a service in this process"

    func connection(device: String) -> any RecordService { cloud.connection(device: device) }

    func device<Record: DemoRecord>(
        _ name: String, at path: String, data: DemoData<Record>
    ) throws -> any DemoDevice {
        try LocalDemoDevice(name, at: path, data: data, service: connection(device: name))
    }
}

/// What this program is started with to be a device of the demo, with a name and a store.
package typealias DemoDeviceStart =
    @Sendable (
        _ name: String, _ store: String, _ input: DemoInput, _ hub: StartedHub
    ) throws -> (arguments: [String], variables: [String: String])

/// A hub, over HTTP; it and each device are processes of their own.
struct HubDemoCloud: DemoCloud {
    let process: HubProcess
    let input: DemoInput
    let start: DemoDeviceStart

    var title: String { "a hub, process \(process.id), at \(process.hub.url)" }

    func connection(device: String) throws -> any RecordService {
        let hub = process.hub
        guard let url = URL(string: hub.url) else {
            throw DemoFailure("The hub says that it is at '\(hub.url)', which is no address.")
        }
        return try CloudKitRecordService(
            CloudKitConfiguration(
                url: url, container: hub.container, environment: hub.environment,
                credentials: .user(
                    apiToken: hub.apiToken, webAuthToken: WebAuthToken(try hub.webAuthToken))))
    }

    func device<Record: DemoRecord>(
        _ name: String, at path: String, data: DemoData<Record>
    ) throws -> any DemoDevice {
        let (arguments, variables) = try start(name, path, input, process.hub)
        return try DemoDeviceProcess(name, at: path) {
            try ChildPipe(arguments, variables: variables)
        }
    }
}
