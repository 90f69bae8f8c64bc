import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing
import Threading

/// A feed that always says that more is coming, and repeats its tokens.
@Suite(.budgeted) struct StuckFeedTests {
    private struct StuckService: ForwardingService {
        let service: any RecordService
        /// What the pages have in turn.
        let tokens: [String]
        let requests = Locked(0)

        /// The token of the next page. Who asks without end gets an error.
        func token() throws(ServiceError) -> String {
            let number = requests.withLock { count in
                count += 1
                return count
            }
            guard number < 200 else { throw ServiceError(.invalidRequest, "asked without end") }
            return tokens[number % tokens.count]
        }

        func databaseChanges(since token: String?) async throws(ServiceError)
            -> DatabaseChangesPage
        {
            var page = try await service.databaseChanges(since: nil)
            page.token = try self.token()
            page.moreComing = true
            return page
        }

        func zoneChanges(
            in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?,
            types: Set<String>?
        ) async throws(ServiceError) -> ZoneChangesPage {
            ZoneChangesPage(
                records: [], deletions: [], token: try self.token(), moreComing: true)
        }
    }

    private static let tokens = [["same"], ["one", "other"]]
    private let cloud = SimulatedCloud()

    @Test(arguments: tokens)
    func `a round ends and pushes what waits`(tokens: [String]) async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        await phone.engine.stop()
        let service = StuckService(service: phone.service, tokens: tokens)
        let engine = SyncEngine(
            store: phone.store, service: service, configuration: phone.engine.configuration)
        for _ in 0..<3 { #expect(try await engine.sync().hasMoreToPull) }
        #expect(remote(cloud) == ["Note a {title: one}"])
        #expect(service.requests.withLock { $0 } < 60)
    }

    @Test(arguments: tokens)
    func `a full fetch takes nothing for deleted, and is tried again`(
        tokens: [String]
    ) async throws {
        let phone = try await Device.withNotes(cloud)
        await phone.engine.stop()
        let service = StuckService(service: phone.service, tokens: tokens)
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
