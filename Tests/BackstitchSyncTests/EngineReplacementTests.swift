import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

/// Engines that are started, stopped, dropped, doubled and replaced all the time, on real threads,
/// while a service answers late, others edit and the application writes.
///
/// `ENGINE_REPLACEMENTS` replaces more of them.
@Suite(.budgeted) struct EngineReplacementTests {
    private static let replacements = Load.count("ENGINE_REPLACEMENTS", else: 8)

    private let cloud = SimulatedCloud(limits: ServiceLimits(recordsPerPage: 9))

    private func engine(_ store: Store, seed: UInt64) -> SyncEngine {
        SyncEngine(
            store: store,
            service: LateService(cloud.connection(device: "phone"), seed: seed),
            configuration: SyncConfiguration(
                zoneName: scenarioZone.zoneName, debounce: .zero, poll: .milliseconds(1),
                standbyRetry: .milliseconds(1)))
    }

    @Test(arguments: [false, true])
    func `nothing is missing, however often engines are replaced`(isOnDisk: Bool) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/engines-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store =
            isOnDisk
            ? try Store(
                at: path, schema: scenarioSchema,
                configuration: StoreConfiguration(durability: .relaxed))
            : try Store.inMemory(schema: scenarioSchema)
        defer { store.close() }
        var generator = SeededGenerator(seed: isOnDisk ? 2 : 1)
        var last: SyncEngine? = engine(store, seed: 0)
        try await last?.start()
        for number in 0..<120 { try edit(number) }
        for round in 0..<Self.replacements {
            for _ in 0..<5 { try edit(Int(generator.next() % 120)) }
            let note = Note(id: Note.ID("w\(round)"), title: "\(round)")
            try await store.write { _ = try $0.save(note) }
            for _ in 0..<(generator.next() % 300) { await Task.yield() }
            let next = engine(store, seed: UInt64(round + 1))
            switch generator.next() % 4 {
            case 0:
                // A second one, while the first goes on; it has to wait.
                async let started: Void = next.start()
                await last?.stop()
                try await started
            case 1:
                let call = Task { [last] in try await last?.sync() }
                call.cancel()
                last = nil
                try await next.start()
                _ = await call.result
            default:
                await last?.stop()
                try await next.start()
            }
            // One that stood by has its turn soon.
            let fetchesAll = generator.next() % 2 == 0
            try await retried {
                if fetchesAll {
                    try await next.resync(from: .server)
                } else {
                    try await next.sync()
                }
            }
            last = next
        }
        let end = try #require(last)
        try await retried { try await end.sync() }
        try await retried { try await end.sync() }
        let names = try store.read { try $0.fetch(Note.self) }.map(\.id.key.name.description)
        #expect(Set(names) == Set(cloud.records(in: scenarioZone).map(\.recordName)))
        #expect(names.count == 120 + Self.replacements)
        #expect(try end.pending().pendingRecords == 0)
        await end.stop()
        await end.untilEnded()
        #expect(try store.verify().problems == [])
    }

    private func edit(_ number: Int) throws {
        try cloud.write(
            "n\(number)", type: "Note", fields: ["title": .string("\(number)")], in: scenarioZone)
    }

    /// Until the engine before has ended.
    private func retried(_ body: () async throws -> Void) async throws {
        while true {
            do {
                return try await body()
            } catch let error as SyncError where error.code == .standby {
                await Task.yield()
            }
        }
    }
}
