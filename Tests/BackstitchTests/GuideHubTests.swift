import Backstitch
import BackstitchHub
import CloudKitRecordService
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct GuideHubTests {
    @Test func `a device exchanges with the hub that the guide starts`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("guide-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }

        let hub = try await Hub(at: folder.path)  // made if it is not there
        let (container, environment) = ("iCloud.com.example.notes", "development")
        try await hub.accounts.makeContainer(container, environment: environment)
        let apiToken = try await hub.accounts.makeAPIToken(container, environment: environment)
        let ada = try await hub.accounts.signIn(
            "Ada", container: container, environment: environment)

        var configuration = HubServer.Configuration()
        configuration.host = "127.0.0.1"  // other addresses need a certificate
        configuration.port = 0  // any that is free
        let server = try HubServer(hub, configuration: configuration)  // serves from now on
        print(server.url, apiToken, ada.webAuthToken)

        var client = CloudKitConfiguration(
            container: container, environment: environment,
            credentials: .user(
                apiToken: apiToken, webAuthToken: WebAuthToken(ada.webAuthToken) { _ in }))
        client.url = server.url
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try await store.write { _ = try $0.save(Department(name: "Engines")) }
        let engine = SyncEngine(
            store: store, service: try CloudKitRecordService(client),
            configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        #expect(try await engine.sync().pushedRecords == 1)
        await engine.stop()

        await server.stop()  // answers the current requests, and takes no more
        hub.close()
    }
}
