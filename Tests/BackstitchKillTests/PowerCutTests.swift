import Backstitch
import BackstitchCore
import BackstitchStore
import Foundation
import LMDB
import SmallDisk
import TestBudget
import Testing

extension KillTests {
    /// Disks on which a power cut can be had: their file system has a journal of its own.
    private static let disks = SmallDisk.kinds.contains { $0 != .tmpfs(mebibytes: 16) } ? 1 : 0

    /// Two processes write to a store on a device of its own. They are killed, and the bytes that the device
    /// has at that moment are all that is left: what the system held back is lost. The copy is mounted,
    /// which replays the file system's journal, and the store is opened as after a start of the system. In
    /// each second round the system runs on instead, as if the disk had been away; it may have written down
    /// some of what it held back.
    ///
    /// `POWER_CUTS` says how often, of either durability; 4 unless given.
    @Test(
        .enabled(if: disks > 0, "nothing can be mounted here"),
        arguments: [StoreConfiguration.Durability.full, .relaxed])
    func `what was acknowledged survives power cuts, and relaxed stores are whole`(
        durability: StoreConfiguration.Durability
    ) async throws {
        let rounds = Load.count("POWER_CUTS", else: 4)
        let mode = durability == .full ? "shared" : "relaxed"
        var state: UInt64 = 3
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var disk = try SmallDisk(.ext4(mebibytes: 64))
        var acknowledged: [Int: Int] = [:]
        var total = 0
        for round in 0..<rounds {
            if round % 20 == 0 {
                disk = try SmallDisk(.ext4(mebibytes: 64))
                acknowledged = [:]
            }
            let helpers = try [0, 2].map {
                try Helper(disk.path + "/store", firstWriter: $0, mode: mode, most: 200)
            }
            // Some cuts come while the store is being made or recovered.
            let lines = round % 5 == 1 ? 0 : random(below: 80)
            try await helpers[0].waitForLines(lines)
            let isRestarted = round % 2 == 0
            if !isRestarted {
                sync()
                try await helpers[0].waitForLines(lines + random(below: 60))
            }
            let microseconds = UInt32(random(below: 30_000))
            let killed = try helpers[0].kill(afterMicroseconds: microseconds) + helpers[1].kill()
            disk = try disk.afterPowerCut()
            for (writer, transaction) in killed {
                total += 1
                guard durability == .full else { continue }
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
            }
            let path = disk.path + "/store"
            if isRestarted, FileManager.default.fileExists(atPath: path + "/data.mdb") {
                var options = EnvironmentOptions.store
                options.boot = BootID(testing: UInt64(round) + 1)
                try Environment.open(at: path, options: options).close()
            }
            try await check(
                path, acknowledged, "power cut \(round), restarted: \(isRestarted), \(durability)")
        }
        print("\(rounds) power cuts, \(durability), \(total) acknowledged transactions")
        #expect(total > rounds)
    }
}
