import Backstitch
import ChildProcess
import CloudKitRecordService
import Foundation
import PostgreSQLCluster
import Threading
import TestBudget
import Testing
import Waiting

@Entity("Count") struct Count: Equatable {
    var id = ID()
    var value: Int
}

/// Four devices write to a hub that is killed again and again. Each edits records of its own, so that
/// every conflict is one with itself: a change that the hub applied twice, or forgot.
///
/// `HUB_KILLS` sets the number of kills.
@Suite(.budgeted) struct HubKillTests {
    private static let devices = 4
    /// The most steps that each makes between two kills, however long these take.
    private static let stepsPerKill = 25
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test
    func `no change is lost or done twice though the hub is killed under load`()
        async throws
    {
        let kills = Load.count("HUB_KILLS", else: 3)
        let hub = try KillableHub(folder: fixture.root + "/hub")
        let devices = try (0..<Self.devices).map {
            try CountingDevice($0, service: hub.service())
        }
        try await work(devices, kills: kills) { _ in try hub.killAndRestart() }
        #expect(try hub.stop() == .exit(code: 0))
    }

    /// `DATABASE_KILLS` sets how often something is killed. `DATABASE_OTHER_PROGRAM` is the program of another
    /// version, which one of the hubs runs, and then the other one, as while hubs are replaced.
    @Test(
        .enabled(if: PostgreSQLCluster.isInstalled, "PostgreSQL is missing: Tests/prepare.sh --all")
    )
    func
        `so it is with two hubs on one database, of which each, sessions and the server are killed`()
        async throws
    {
        let kills = Load.count("DATABASE_KILLS", else: 4)
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
        let other =
            ProcessInfo.processInfo.environment["DATABASE_OTHER_PROGRAM"].map {
                ["/bin/sh", "-c", "other=$1; shift 2; exec \"$other\" \"$@\"", "sh", $0]
            } ?? []
        let hubs = try [[], other].map {
            try KillableHub(folder: fixture.root + "/files", options: storage, launcher: $0)
        }
        let devices = try (0..<Self.devices).map {
            try CountingDevice($0, service: hubs[$0 % 2].service())
        }
        try await work(devices, kills: kills) { number in
            switch number % 4 {
            case 0, 2:
                try await cluster.wait()
                try hubs[number % 4 / 2].killAndRestart(through: number % 8 < 4 ? other : [])
            case 1: cluster.killSession()
            default: cluster.kill()
            }
        }
        for hub in hubs {
            let ending = try hub.stop()
            #expect(ending == .exit(code: 0))
        }
    }

    /// The replica is asynchronous and lacks the last commits, which devices were told are kept.
    @Test(
        .enabled(if: PostgreSQLCluster.isInstalled, "PostgreSQL is missing: Tests/prepare.sh --all")
    )
    func `devices bring back what a replica lacks that took over, after a new epoch`() async throws
    {
        let primary = try PostgreSQLCluster()
        let replica = try PostgreSQLCluster(following: primary)
        func storage(_ cluster: PostgreSQLCluster) -> [String] { ["--storage", cluster.address] }
        #expect(try Runner.run(["hub", "migrate"] + storage(primary)).code == 0)
        let files = fixture.root + "/files"
        let hub = try KillableHub(folder: files, options: storage(primary))
        let devices = try (0..<2).map { try CountingDevice($0, service: hub.service()) }
        var saved: [String: Int] = [:]
        func save(_ edits: [String: Int], on device: CountingDevice) async throws {
            saved.merge(edits) { $1 }
            try await device.save(edits)
            _ = try await device.engine.sync()
        }
        for step in 1..<5 {
            for (number, device) in devices.enumerated() {
                try await save(["\(number)-\(step)": 0, "\(number)-0": step], on: device)
            }
        }
        for device in devices { _ = try await device.engine.sync() }
        try await replica.wait(for: primary)
        try await replica.cutOff()
        // New records, changed ones and a deleted one, of which both devices know and the replica does not.
        for step in 5..<9 {
            for (number, device) in devices.enumerated() {
                try await save(["\(number)-\(step)": 1, "\(number)-1": step], on: device)
            }
        }
        try await devices[0].delete("0-2")
        saved["0-2"] = nil
        for _ in 0..<2 { for device in devices { _ = try await device.engine.sync() } }
        for device in devices { #expect(try device.counts() == saved) }

        try hub.killForGood()
        primary.stop()
        try await replica.promote()
        let epoch = try Runner.run(["hub", "epoch", "--data", files] + storage(replica))
        #expect(epoch.code == 0, "\(epoch.complaint)")
        try hub.restart(with: storage(replica))
        for _ in 0..<3 { for device in devices { _ = try await device.engine.sync() } }
        for device in devices {
            let counts = try device.counts()
            // A deletion that only the lost commits knew of is undone: the record is there, everywhere.
            #expect(counts.filter { $0.key != "0-2" } == saved)
            #expect(try device.engine.pending().pendingRecords == 0)
            #expect(try device.store.verify().problems == [])
        }
        let fresh = try CountingDevice(2, service: hub.service())
        _ = try await fresh.engine.sync()
        #expect(try fresh.counts() == devices[0].counts())
        #expect(try devices[0].counts() == devices[1].counts())
        #expect(try hub.stop() == .exit(code: 0))
    }

    /// Has devices save and exchange while something is killed, and checks that they have all in the end.
    private func work(
        _ devices: [CountingDevice], kills: Int, _ kill: (Int) async throws -> Void
    ) async throws {
        // How many steps each device may have made; nil when it is over.
        let steps = Locked<Int?>(0)
        let saved = try await withThrowingTaskGroup(of: [String: Int].self) { group in
            for device in devices {
                group.addTask { try await device.work { steps.withLock { $0 } } }
            }
            var state: UInt64 = 11
            for number in 0..<kills {
                steps.withLock { $0 = (number + 1) * Self.stepsPerKill }
                // Something went well since the last time, and something is under way.
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let wanted = Self.rounds(of: devices) + 2 + Int(state >> 33) % 6
                try await eventually { Self.rounds(of: devices) >= wanted }
                try await kill(number)
            }
            steps.withLock { $0 = nil }
            return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
        }
        for _ in 0..<2 {
            for device in devices { try await device.syncWhenThere() }
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

    /// Makes records, counts some of them up and exchanges them; answers what is saved in the end.
    ///
    /// - Parameter allowed: How many steps it may have made by now. With as many it exchanges, and saves no
    ///   more. Nil if it is to end.
    func work(_ allowed: @Sendable () -> Int?) async throws -> [String: Int] {
        var saved: [String: Int] = [:]
        var step = 0
        while let most = allowed(), !Task.isCancelled {
            if step < most {
                step += 1
                var edits: [String: Int] = ["\(number)-\(step)": 0]
                for older in [step / 2, step / 3] where older > 0 && older < step {
                    let name = "\(number)-\(older)"
                    edits[name] = saved[name, default: 0] + 1
                }
                try await save(edits)
                saved.merge(edits) { $1 }
            }
            try await eventually(pausing: .milliseconds(20)) {
                do {
                    _ = try await engine.sync()
                    rounds.withLock { $0 += 1 }
                    return true
                } catch is SyncError {
                    // The hub is away, or ended with the request under way. A device that may save does so meanwhile.
                    return allowed().map { step < $0 } ?? true
                }
            }
        }
        return saved
    }

    /// Exchanges everything, once what was killed last is there again: until then a device is told that
    /// the service is unreachable, and keeps what it has.
    func syncWhenThere() async throws {
        try await eventually(pausing: .milliseconds(20)) {
            do {
                _ = try await engine.sync()
                return true
            } catch let error as SyncError where error.code == .unreachable {
                return false
            }
        }
    }

    func save(_ counts: [String: Int]) async throws {
        try await store.write { transaction in
            for (name, value) in counts {
                _ = try transaction.save(Count(id: Count.ID(name), value: value))
            }
        }
    }

    func delete(_ name: String) async throws {
        try await store.write { _ = try $0.delete(Count.ID(name)) }
    }

    func counts() throws -> [String: Int] {
        let all = try store.read { try $0.fetch(Count.self) }
        return Dictionary(all.map { ("\($0.id)", $0.value) }) { first, _ in first }
    }
}
