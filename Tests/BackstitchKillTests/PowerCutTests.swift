import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchTesting
import Foundation
import LMDB
import SmallDisk
import TestBudget
import Testing

extension KillTests {
    /// Disks on which a power cut can be had: their file system has a journal of its own.
    private static let disks = SmallDisk.kinds.contains { $0 != .tmpfs(mebibytes: 16) } ? 1 : 0
    /// With space for what the processes write, and the 64 MiB that have to be free for a journal.
    private static let disk = SmallDisk.Kind.ext4(mebibytes: 192)
    /// So many cuts come to a disk. Then it is new, and so are the store and its seed.
    private static let cutsPerDisk = 4

    /// Two to four processes, each at a durability of its own, write to a store on a device of its own.
    /// Some close the store, and the others are killed. The bytes that the device has at that moment are
    /// all that is left: what the system held back is lost. The copy is mounted, which replays the file
    /// system's journal, and the store is opened as after a start of the system. In each second round the
    /// system runs on instead, as if the disk had been away; it may have written down some of what it held
    /// back.
    ///
    /// All that was acknowledged at full durability has to be there, and so has all that a process
    /// acknowledged before it closed the store: a close writes down what relaxed commits left open.
    ///
    /// `POWER_CUTS` says how often; 6 unless given.
    @Test(.enabled(if: disks > 0, "nothing can be mounted here"))
    func `what was acknowledged survives power cuts, whoever closed the store before`() async throws
    {
        let rounds = Load.count("POWER_CUTS", else: 6)
        var (closes, kills) = (0, 0)
        var disk = try SmallDisk(Self.disk)
        var processes = MixedProcesses(path: "", seed: 0)
        var random = SeededGenerator(seed: 0)
        for round in 0..<rounds {
            if round % Self.cutsPerDisk == 0 {
                let seed = UInt64(round / Self.cutsPerDisk)
                if round > 0 { disk = try SmallDisk(Self.disk) }
                processes = MixedProcesses(path: disk.path + "/store", seed: seed)
                random = SeededGenerator(seed: seed)
            }
            for number in 0..<Int.random(in: 2...4, using: &random) {
                try processes.start(number, most: [12], &random)
            }
            // Some cuts come while the store is being made or recovered.
            let isEarly = round % 5 == 1
            let lines = isEarly ? 0 : Int.random(in: 0...12, using: &random)
            try await processes.running[0].helper.waitForLines(lines)
            let isRestarted = round % 2 == 0
            if !isRestarted {
                sync()
                let more = Int.random(in: 0...12, using: &random)
                try await processes.running[0].helper.waitForLines(lines + more)
            }
            let closing =
                isEarly ? 0 : Int.random(in: 0...processes.running.count, using: &random)
            for _ in 0..<closing {
                let helper = processes.takeAny(&random).helper
                // It opens the store before it can close it.
                try await helper.waitForLines(1)
                processes.promise(try helper.close())
            }
            let kept = processes.running.count
            try killAll(&processes, &random)
            disk = try disk.afterPowerCut()
            processes.path = disk.path + "/store"
            if isRestarted { try restart(processes.path, boot: UInt64(round) + 1) }
            try await check(
                processes, "seed \(processes.seed), cut \(round), restarted: \(isRestarted)")
            (closes, kills) = (closes + closing, kills + kept)
        }
        print("\(rounds) power cuts, \(closes) closes and \(kills) kills before them")
    }

    /// Kills those that did not close the store, at a moment by chance.
    private func killAll(
        _ processes: inout MixedProcesses, _ random: inout SeededGenerator
    ) throws {
        var microseconds = UInt32.random(in: 0..<30_000, using: &random)
        while !processes.running.isEmpty {
            let process = processes.takeAny(&random)
            let acknowledged = try process.helper.kill(afterMicroseconds: microseconds)
            if process.durability == .full { processes.promise(acknowledged) }
            microseconds = 0
        }
    }

    /// Opens a store as after a start of the system, if there is one.
    private func restart(_ path: String, boot number: UInt64) throws {
        guard FileManager.default.fileExists(atPath: path + "/data.mdb") else { return }
        var options = EnvironmentOptions.store
        options.boot = BootID(testing: number)
        try Environment.open(at: path, options: options).close()
    }
}
