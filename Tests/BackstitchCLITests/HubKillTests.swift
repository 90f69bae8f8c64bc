import Backstitch
import ChildProcess
import CloudKitRecordService
import Foundation
import PostgreSQLCluster
import Threading
import Testing

@Entity("Count") struct Count: Equatable {
    var id = ID()
    var value: Int
}

/// Four devices write to a hub that is killed again and again. Each edits records of its own, so that
/// every conflict is one with itself: a change that the hub applied twice, or forgot.
///
/// `HUB_KILLS` sets the number of kills.
@Suite struct HubKillTests {
    private static let devices = 4
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test(.timeLimit(.minutes(15)))
    func `no change is lost or done twice though the hub is killed under load`()
        async throws
    {
        let kills = ProcessInfo.processInfo.environment["HUB_KILLS"].flatMap(Int.init) ?? 4
        let hub = try KillableHub(folder: fixture.root + "/hub")
        let devices = try (0..<Self.devices).map {
            try CountingDevice($0, service: hub.service())
        }
        try await work(devices, kills: kills) { _ in try hub.killAndRestart() }
        #expect(try hub.stop() == .exit(code: 0))
    }

    /// `DATABASE_KILLS` sets how often something is killed.
    @Test(
        .timeLimit(.minutes(60)),
        .enabled(if: PostgreSQLCluster.isInstalled, "PostgreSQL is missing: Tests/prepare.sh --all")
    )
    func
        `so it is with two hubs on one database, of which each, sessions and the server are killed`()
        async throws
    {
        let kills = ProcessInfo.processInfo.environment["DATABASE_KILLS"].flatMap(Int.init) ?? 8
        let cluster = try PostgreSQLCluster()
        let storage = ["--storage", cluster.address]
        let refused = try Runner.run(["hub", "--data", fixture.root + "/files"] + storage)
        #expect(refused.code != 0 && refused.complaint.contains("hub migrate --storage"))
        for migrated in [true, false] {
            let done = try Runner.run(["hub", "migrate", "--json"] + storage)
            #expect(done.code == 0 && done.output == #"{"migrated":\#(migrated)}"# + "\n")
        }
        let silent = try Runner.run(["hub", "migrate"] + storage)
        #expect(silent.code == 0 && silent.output == "" && silent.complaint == "")
        let hubs = try (0..<2).map { _ in
            try KillableHub(folder: fixture.root + "/files", options: storage)
        }
        let devices = try (0..<Self.devices).map {
            try CountingDevice($0, service: hubs[$0 % 2].service())
        }
        try await work(devices, kills: kills) { number in
            switch number % 4 {
            case 0, 2:
                try await cluster.wait()
                try hubs[number % 4 / 2].killAndRestart()
            case 1: cluster.killSession()
            default: cluster.kill()
            }
        }
        for hub in hubs { #expect(try hub.stop() == .exit(code: 0)) }
    }

    /// Has devices save and exchange while something is killed, and checks that they have all in the end.
    private func work(
        _ devices: [CountingDevice], kills: Int, _ kill: (Int) async throws -> Void
    ) async throws {
        let running = Locked(true)
        let saved = try await withThrowingTaskGroup(of: [String: Int].self) { group in
            for device in devices {
                group.addTask { try await device.work { running.withLock { $0 } } }
            }
            var state: UInt64 = 11
            for number in 0..<kills {
                // Something went well since the last time, and something is under way.
                let before = Self.rounds(of: devices)
                while Self.rounds(of: devices) < before + 2 {
                    try await Task.sleep(for: .milliseconds(1))
                }
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                try await Task.sleep(for: .microseconds(Int64(state >> 33) % 50_000))
                try await kill(number)
            }
            running.withLock { $0 = false }
            return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
        }
        for _ in 0..<2 {
            for device in devices { _ = try await device.engine.sync() }
        }
        for device in devices {
            #expect(try device.counts() == saved)
            #expect(try device.engine.pending().pendingRecords == 0)
            #expect(try device.engine.parked().isEmpty)
            #expect(try device.engine.conflicts().isEmpty)
            #expect(try device.store.verify().problems == [])
        }
        let rounds = Self.rounds(of: devices)
        print("\(kills) kills, \(saved.count) records, \(rounds) rounds that ended well")
        #expect(saved.count > kills)
    }

    /// How many rounds of all devices ended well.
    private static func rounds(of devices: [CountingDevice]) -> Int {
        devices.reduce(0) { sum, device in sum + device.rounds.withLock { $0 } }
    }
}

/// A device that saves and exchanges for as long as it is told to.
private final class CountingDevice: Sendable {
    let store: Store
    let engine: SyncEngine
    /// The rounds that ended well.
    let rounds = Locked(0)
    private let number: Int

    init(_ number: Int, service: CloudKitRecordService) throws {
        self.number = number
        store = try Store.inMemory(schema: StoreSchema(Count.self))
        engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: "counts", conflictPolicy: .clientWins, syncOnSave: false))
    }

    /// Makes records and counts some of them up; answers what is saved in the end.
    func work(while isRunning: @Sendable () -> Bool) async throws -> [String: Int] {
        var saved: [String: Int] = [:]
        var step = 0
        while isRunning() {
            step += 1
            var edits: [String: Int] = ["\(number)-\(step)": 0]
            for older in [step / 2, step / 3] where older > 0 && older < step {
                let name = "\(number)-\(older)"
                edits[name] = saved[name, default: 0] + 1
            }
            try await store.write { [edits] transaction in
                for (name, value) in edits {
                    _ = try transaction.save(Count(id: Count.ID(name), value: value))
                }
            }
            saved.merge(edits) { $1 }
            do {
                _ = try await engine.sync()
                rounds.withLock { $0 += 1 }
            } catch is SyncError {
                // The hub is away, or ended with the request under way.
            }
        }
        return saved
    }

    func counts() throws -> [String: Int] {
        let all = try store.read { try $0.fetch(Count.self) }
        return Dictionary(all.map { ("\($0.id)", $0.value) }) { first, _ in first }
    }
}
