import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing
import Threading

/// A full fetch whose list lacks records that the service has, and others that it lacks.
@Suite(.budgeted) struct FullFetchTests {
    /// A replica that lags behind, or a service whose list has gaps: some records are left out.
    private struct GappyService: ForwardingService {
        let service: any RecordService
        let hidden: Set<String>
        /// The most records of a look-up.
        var recordsMax = Int.max
        /// What look-ups with a record fail with.
        var refused: (name: String, error: ServiceError)?
        let lookUps = Locked<[Int]>([])
        /// What the next look-up of one record answers: the state of a replica that lags behind.
        let stale = Locked<LookupResult?>(nil)

        func zoneChanges(
            in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?,
            types: Set<String>?
        ) async throws(ServiceError) -> ZoneChangesPage {
            var page = try await service.zoneChanges(
                in: zone, since: token, limit: limit, fields: fields, types: types)
            page.records.removeAll { hidden.contains($0.recordName) }
            page.deletions.removeAll { hidden.contains($0.recordName) }
            return page
        }

        func lookUpRecords(
            _ recordNames: [String], in zone: ZoneID
        ) async throws(ServiceError) -> [LookupResult] {
            lookUps.withLock { $0.append(recordNames.count) }
            if let refused, recordNames.contains(refused.name) { throw refused.error }
            guard recordNames.count <= recordsMax else { throw ServiceError(.limitExceeded) }
            if recordNames.count == 1, let answer = stale.withLock({ $0.take() }) {
                return [answer]
            }
            return try await service.lookUpRecords(recordNames, in: zone)
        }
    }

    private let cloud = SimulatedCloud()
    private let clock = ManualClock()

    /// A device with notes on the service, whose engine meets a service with gaps from now on.
    private func device(
        _ names: [String], _ gaps: (any RecordService) -> GappyService
    ) async throws -> (Device, GappyService, SyncEngine) {
        let clock = clock
        let phone = try Device(cloud) { $0.clock = clock }
        for name in names { try await phone.note(name, "one") }
        try await phone.sync()
        await phone.engine.stop()
        let service = gaps(phone.service)
        let engine = SyncEngine(
            store: phone.store, service: service, configuration: phone.engine.configuration)
        return (phone, service, engine)
    }

    @Test func `what the service still has stays, and what it lacks is deleted`() async throws {
        let (phone, service, engine) = try await device(["a", "b", "c"]) {
            GappyService(service: $0, hidden: ["b", "c"])
        }
        try cloud.remove("c", in: scenarioZone)
        try await engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        #expect(service.lookUps.withLock { $0 } == [2])
        #expect(try engine.conflicts().isEmpty)
        try await phone.expectSettled()
    }

    @Test func `a record that only a replica behind still has does not stay`() async throws {
        let (phone, service, engine) = try await device(["a", "b"]) {
            GappyService(service: $0, hidden: ["b"])
        }
        let old = try await phone.service.lookUpRecords(["b"], in: scenarioZone)
        service.stale.withLock { $0 = old[0] }
        try cloud.remove("b", in: scenarioZone)
        try await engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        #expect(try phone.store.info().undeliveredRecords == 1)
        for _ in 0..<3 {
            clock.advance(milliseconds: 300_000)
            try await engine.sync()
        }
        #expect(try phone.titles() == ["a": "one"])
        #expect(try phone.store.info().undeliveredRecords == 0)
    }

    @Test func `a newer version that the list lacks is taken over`() async throws {
        let (phone, _, engine) = try await device(["a", "b"]) {
            GappyService(service: $0, hidden: ["b"])
        }
        try cloud.write("b", type: "Note", fields: ["title": .string("two")], in: scenarioZone)
        try await engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "one", "b": "two"])
    }

    @Test func `an edited record that the service lacks is left to the policy`() async throws {
        let (phone, _, engine) = try await device(["a", "b", "c"]) {
            GappyService(service: $0, hidden: ["b", "c"])
        }
        try cloud.remove("c", in: scenarioZone)
        for name in ["b", "c"] { try await phone.note(name, "mine") }
        try await engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "one", "b": "mine"])
        let conflict = try #require(try engine.conflicts().first)
        #expect(conflict.local?["title"] == .string("mine"))
        #expect(remote(cloud) == ["Note a {title: one}", "Note b {title: mine}"])
    }

    @Test func `look-ups are as large as the service takes, and each record is asked for once`()
        async throws
    {
        let names = (0..<20).map { "n\($0)" }
        let (phone, service, engine) = try await device(names) {
            GappyService(service: $0, hidden: Set(names), recordsMax: 6)
        }
        try cloud.remove("n7", in: scenarioZone)
        try await engine.resync(from: .server)
        #expect(try phone.titles().count == 19)
        #expect(service.lookUps.withLock { $0 } == [20, 10, 5, 5, 5, 5])
    }

    @Test func `a look-up that fails ends the round, and the next one goes on with it`()
        async throws
    {
        let (phone, _, engine) = try await device(["a", "b"]) {
            GappyService(service: $0, hidden: ["a", "b"])
        }
        try cloud.remove("b", in: scenarioZone)
        phone.service.failNext(.lookup, with: .network)
        let error = await syncError { try await engine.resync(from: .server) }
        #expect(error?.code == .unreachable)
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        try await engine.sync()
        #expect(try phone.titles() == ["a": "one"])
        #expect(try phone.store.info().zones.map(\.isFullFetch) == [false])
    }

    @Test func `a record that can't be looked up stays, is counted, and keeps nothing else`()
        async throws
    {
        let names = ["a", "b", "c", "d"]
        let (phone, service, engine) = try await device(names) {
            GappyService(
                service: $0, hidden: Set(names),
                refused: ("b", ServiceError(.invalidRequest, "no")))
        }
        for name in ["b", "d"] { try cloud.remove(name, in: scenarioZone) }
        try await phone.note("mine", "here")
        try await engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "one", "b": "one", "c": "one", "mine": "here"])
        #expect(remote(cloud).contains("Note mine {title: here}"))
        // And of what it found that the fetch did not list, a second answer decides.
        #expect(try phone.store.info().undeliveredRecords == 3)
        #expect(service.lookUps.withLock { $0.count } < 12)
        // It is asked for again, and ends once the service answers.
        await engine.stop()
        let next = await phone.restarted()
        for _ in 0..<4 {
            clock.advance(milliseconds: 300_000)
            try await next.sync()
        }
        #expect(try next.titles() == ["a": "one", "c": "one", "mine": "here"])
        try await next.expectSettled()
    }
}
