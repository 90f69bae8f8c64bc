import Backstitch
import CrashStates
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

/// Power cuts and kills during everything that a store does with its files. One after the other,
/// because they share the recorder.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct StoreCrashTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private static func number(_ name: String, or other: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? other
    }

    /// `STORE_CRASH_STATES` says how many, 100 unless given; `CRASH_SEED` where to begin.
    @Test func `whatever a crash leaves, acknowledged writes are there and the tables follow`()
        async throws
    {
        let wanted = Self.number("STORE_CRASH_STATES", or: 100)
        var seed = UInt64(Self.number("CRASH_SEED", or: 1))
        var count = 0
        while count < wanted {
            var random = SeededGenerator(seed: seed)
            let path = folder.root + "/\(seed)"
            let history = try await CrashWork.history(at: path, using: &random)
            let recording = history.recording
            for _ in 0..<min(25, (wanted - count + 1) / 2) {
                let index = Int.random(in: 0..<recording.events.count, using: &random)
                let step = history.step(at: index).map { "\($0)" } ?? "opening"
                let story = "CRASH_SEED=\(seed), event \(index), \(step)"
                let cut = recording.powerCut(at: index, using: &random)
                try await check(cut, history, at: index, isPowerCut: true, story)
                let killed = recording.kill(at: index).diedInCommit
                try await check(killed, history, at: index, isPowerCut: false, story + ", killed")
                count += 2
            }
            try FileManager.default.removeItem(atPath: path)
            seed += 1
        }
    }

    private func check(
        _ image: FolderImage, _ history: CrashHistory, at index: Int, isPowerCut: Bool,
        _ story: String
    ) async throws {
        let path = folder.root + "/crashed"
        try? FileManager.default.removeItem(atPath: path)
        try image.write(to: path)
        if isPowerCut { try Self.recover(path) }
        // What was not migrated yet is migrated now.
        let store = try Store(at: path, schema: SecondVersion.schema)
        defer { store.close() }
        try await store.prepareIndexes()
        #expect(history.allows(try CrashRecords.values(of: store), at: index), "\(story)")
        let report = try store.verify()
        #expect(report.isConsistent, "\(story): \(report.problems)")
        try await store.write { tx in
            try tx.save(SecondVersion.Item(id: "after", name: "", count: 1, group: ""))
        }
    }

    /// Opens the files as after a start of the system.
    private static func recover(_ path: String) throws {
        var options = EnvironmentOptions.store
        options.boot = BootID(testing: 99)
        try Environment.open(at: path, options: options).close()
    }
}
