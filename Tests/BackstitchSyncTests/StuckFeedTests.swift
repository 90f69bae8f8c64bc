import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing
import Threading

/// A feed that always says that more is coming, and repeats its token.
@Suite(.budgeted) struct StuckFeedTests {
    private struct StuckService: ForwardingService {
        let service: any RecordService
        let requests = Locked(0)

        func databaseChanges(since token: String?) async throws(ServiceError)
            -> DatabaseChangesPage
        {
            requests.withLock { $0 += 1 }
            var page = try await service.databaseChanges(since: nil)
            page.token = "same"
            page.moreComing = true
            return page
        }

        func zoneChanges(
            in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?
        ) async throws(ServiceError) -> ZoneChangesPage {
            requests.withLock { $0 += 1 }
            return ZoneChangesPage(records: [], deletions: [], token: "same", moreComing: true)
        }
    }

    private let cloud = SimulatedCloud()

    @Test func `a round ends and pushes what waits`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        await phone.engine.stop()
        let service = StuckService(service: phone.service)
        let engine = SyncEngine(
            store: phone.store, service: service, configuration: phone.engine.configuration)
        for _ in 0..<3 { try await engine.sync() }
        #expect(remote(cloud) == ["Note a {title: one}"])
        #expect(service.requests.withLock { $0 } < 60)
    }

    @Test func `a full fetch takes nothing for deleted, and is tried again`() async throws {
        let phone = try await Device.withNotes(cloud)
        await phone.engine.stop()
        let service = StuckService(service: phone.service)
        let engine = SyncEngine(
            store: phone.store, service: service, configuration: phone.engine.configuration)
        let error = await syncError { try await engine.resync(from: .server) }
        #expect(error?.code == .unreachable)
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        #expect(service.requests.withLock { $0 } < 30)
        await engine.stop()
        let next = await phone.restarted()
        try await next.sync()
        try await next.expectSettled()
        #expect(try next.titles() == ["a": "one", "b": "one"])
    }
}
