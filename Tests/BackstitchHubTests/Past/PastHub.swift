import BackstitchCore
import Backstitch
import BackstitchSync
import BackstitchTesting
import CloudKitWire
import Foundation
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// A hub in a folder with two users, at a time that the test gives.
final class PastHub: Sendable {
    /// What the users of the kept hub sign in with; it opens nothing else.
    struct Credentials: Codable, Sendable {
        var apiToken: String
        var ada: String
        var bob: String
    }

    static let container = "iCloud.past"
    static let environment = "production"

    let hub: Hub
    let time: Locked<Int64>

    init(at folder: String, milliseconds: Int64) async throws {
        let time = Locked(milliseconds)
        self.time = time
        let random = Locked(SeededGenerator(seed: 7))
        var configuration = HubConfiguration()
        configuration.clock = HubClock(
            milliseconds: { time.withLock { $0 } },
            secret: { count in
                random.withLock { random in
                    (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                }
            })
        hub = try await Hub(at: folder, configuration: configuration)
    }

    /// A client of the hub's, for a user.
    func service(
        _ apiToken: String, _ webAuthToken: String
    ) throws -> CloudKitRecordService {
        try CloudKitRecordService(
            CloudKitConfiguration(
                url: URL(address: "http://127.0.0.1"), container: Self.container,
                environment: Self.environment,
                credentials: .user(apiToken: apiToken, webAuthToken: WebAuthToken(webAuthToken))),
            client: DirectClient(hub))
    }

    /// Sends a request as a user and reads the reply.
    func call<Reply: WireBody>(
        _ endpoint: Endpoint, in database: WireDatabase = .private, _ request: some WireBody,
        _ apiToken: String, _ webAuthToken: String
    ) async throws -> Reply {
        let path = WirePath(
            container: Self.container, environment: Self.environment,
            database: endpoint.isOfDevice ? nil : database, endpoint: endpoint)
        let escaped = webAuthToken.replacing("+", with: "%2B").replacing("/", with: "%2F")
            .replacing("=", with: "%3D")
        let sent = HubRequest(
            method: "POST",
            target: path.text + "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(escaped)",
            body: request.body())
        let response = await hub.respond(to: sent)
        guard case .bytes(let body) = response.body else { throw HubError(.invalid, "a file") }
        guard response.status == 200 else { throw try WireError(body: body) }
        return try Reply(body: body)
    }
}

extension SyncEngine {
    /// An engine that exchanges only when it is asked to.
    static func past(
        _ store: Store, _ service: CloudKitRecordService, _ clock: ManualClock
    ) -> SyncEngine {
        SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: PastApp.zone, syncOnSave: false, clock: clock))
    }
}
