import BackstitchCore
import BackstitchStore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@testable import BackstitchSync

/// What other programs are told of an engine.
@Suite(.budgeted) struct EngineReportTests {
    private let cloud = SimulatedCloud()
    private let clock = ManualClock(milliseconds: 1_700_000_000_000)

    private func engine(_ store: Store, _ service: any RecordService) -> SyncEngine {
        SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: "Secret zone", syncOnSave: false))
    }

    private func told(of store: Store) -> EngineReport? { EngineSign(of: store)?.report }

    private func isTaken(_ store: Store) -> Bool { EngineSign(of: store)?.isTaken == true }

    private func store(at path: String) throws -> Store {
        try Store(
            at: path, schema: LeaseTests.schema(),
            configuration: StoreConfiguration(bytesMax: 1 << 26, clock: clock))
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/report-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test func `rounds and requests are told, and nothing of what records have`() async throws {
        try await withFolder { path in
            let store = try store(at: path)
            #expect(EngineSign(of: store)?.report == nil && EngineSign(of: store)?.isTaken != true)
            let engine = engine(store, cloud.connection(device: "a"))
            for number in 0..<3 {
                try await store.write { try $0.save(LeaseTests.Leased(name: "hidden \(number)")) }
            }
            try await engine.sync()
            // Another handle sees what another process would.
            let other = try self.store(at: path)
            defer { other.close() }
            var report = try #require(told(of: other))
            #expect(isTaken(other))
            #expect(report.status == "idle" && report.trigger == nil && report.code == nil)
            #expect(report.zone == "Secret zone")
            #expect(report.rounds.map(\.pushed) == [3] && report.rounds[0].error == nil)
            #expect(report.rounds[0].trigger == "manual")
            let push = try #require(report.requests.first { $0.call == "modifyRecords" })
            #expect(push.records == 3 && push.error == nil && push.milliseconds == 0)
            #expect(Set(report.requests.map(\.call)).isSuperset(of: ["currentUser", "createZone"]))
            #expect(report.requests.map(\.number) == Array(1...report.requests.count))
            let text = try String(contentsOfFile: path + "/sync.status", encoding: .utf8)
            #expect(!text.contains("hidden"))
            let version = EngineSign(of: other)?.version
            await engine.stop()
            report = try #require(told(of: other))
            #expect(report.status == "stopped" && !isTaken(other))
            #expect(EngineSign(of: other)?.version != version)
            store.close()
        }
    }

    @Test func `a failed round is told with its code, and what is kept has bounds`() async throws {
        try await withFolder { path in
            let store = try store(at: path)
            defer { store.close() }
            let service = cloud.connection(device: "a")
            let engine = engine(store, service)
            try await engine.sync()
            service.failNext(with: .network)
            _ = try? await engine.sync()
            var report = try #require(told(of: store))
            #expect(report.rounds.last?.error?.hasSuffix(".network") == true)
            #expect(report.requests.last?.error == "network")
            #expect(report.status == "backingOff")
            for _ in 0..<EngineReport.requestsMax { try await engine.sync() }
            report = try #require(told(of: store))
            #expect(report.rounds.count == EngineReport.roundsMax)
            #expect(report.requests.count == EngineReport.requestsMax)
            await engine.stop()
        }
    }

    @Test func `what waits to begin is told, and ends with the engine`() async throws {
        try await withFolder { path in
            let store = try store(at: path)
            defer { store.close() }
            let engine = engine(store, cloud.connection(device: "a"))
            try await engine.sync()
            #expect(told(of: store)?.queue == EngineReport.Queue())
            await engine.connectivityChanged(isReachable: false)
            #expect(told(of: store)?.queue.isOffline == true)
            await engine.connectivityChanged(isReachable: true)
            await engine.untilEnded()
            let service = cloud.connection(device: "a")
            service.failNext(with: .network)
            await engine.stop()
            let second = self.engine(store, service)
            try await second.start()
            let queue = try #require(told(of: store)?.queue)
            #expect(queue.next == "retry" && queue.due != nil && queue.deadline == queue.due)
            await second.stop()
            #expect(told(of: store)?.queue == EngineReport.Queue())
        }
    }

    @Test func `a file has no lanes before the first transfer, and one in another form is none`()
        async throws
    {
        try await withFolder { path in
            let store = try store(at: path)
            defer { store.close() }
            let rest = #""zone":"Z","status":"idle","requests":[],"rounds":[]}"#
            let file = URL(fileURLWithPath: path + "/sync.status")
            try Data((#"{"queue":{"calls":0,"isOffline":false},"# + rest).utf8).write(to: file)
            let report = try #require(told(of: store))
            #expect(report.lanes == nil && report.queue == EngineReport.Queue())
            #expect(report.zone == "Z")
            try Data(("{" + rest).utf8).write(to: file)
            #expect(told(of: store) == nil)
        }
    }

    @Test func `an engine that stands by leaves the file of the other one alone`() async throws {
        try await withFolder { path in
            let (first, second) = (try store(at: path), try store(at: path))
            defer { second.close() }
            let one = engine(first, cloud.connection(device: "a"))
            let other = engine(second, cloud.connection(device: "b"))
            try await one.sync()
            let before = told(of: first)
            _ = try? await other.sync()
            #expect(other.status == .standby)
            #expect(told(of: first) == before)
            await one.stop()
            first.close()
            try await other.sync()
            let next = try #require(told(of: second))
            #expect(next.status == "idle" && isTaken(second))
            // What the one before did is still told.
            let earlier = try #require(before)
            #expect(next.rounds.count == earlier.rounds.count + 1)
            #expect(next.rounds.starts(with: earlier.rounds))
            #expect(next.requests.starts(with: earlier.requests))
            await other.stop()
        }
    }

    @Test func `a folder that can't be written keeps no engine from its work`() async throws {
        try await withFolder { path in
            let store = try store(at: path)
            defer { store.close() }
            // What is there can't be replaced by a file.
            try FileManager.default.createDirectory(
                atPath: path + "/sync.status/full", withIntermediateDirectories: true)
            let engine = engine(store, cloud.connection(device: "a"))
            try await store.write { try $0.save(LeaseTests.Leased(name: "saved")) }
            #expect(try await engine.sync().pushedRecords == 1)
            #expect(told(of: store) == nil)
            #expect(!FileManager.default.fileExists(atPath: path + "/sync.status.new"))
            await engine.stop()
        }
    }

    @Test func `a store in memory has nothing to tell others`() async throws {
        let store = try Store.inMemory(schema: LeaseTests.schema())
        defer { store.close() }
        let engine = engine(store, cloud.connection(device: "a"))
        try await engine.sync()
        #expect(EngineSign(of: store)?.report == nil && EngineSign(of: store)?.isTaken != true)
        #expect(EngineSign(of: store) == nil)
        await engine.stop()
    }
}
