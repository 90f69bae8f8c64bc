import Backstitch
import BackstitchCore
import BackstitchSync
import TestBudget
import Testing

@testable import BackstitchStore

/// What compaction must not change, over random histories.
@Suite(.budgeted) struct CompactionPropertyTests {
    private func checkedCompaction(
        of history: CompactionHistory, through horizon: UInt64, perChunk: Int, _ seed: UInt64
    ) async throws -> CompactionHistory {
        let compacted = try history.copy()
        let store = compacted.store
        let comment = Comment(rawValue: "seed \(seed), horizon \(horizon), \(perChunk) a chunk")
        let tables = try store.tableImage()
        let pushes = try store.pushes()
        let counts = try store.read { try StoreInfo.Outbox($0.reader) }
        _ = try await StoreCompaction(store, operationsPerChunk: perChunk).run(through: horizon)
        #expect(try store.tableImage() == tables, comment)
        #expect(try store.pushes() == pushes, comment)
        #expect(try store.read { try StoreInfo.Outbox($0.reader) } == counts, comment)
        #expect(try store.verify().problems == [], comment)
        #expect(try await store.rebuild().isIdentical, comment)
        #expect(try store.tableImage() == tables, comment)
        let image = try store.image()
        _ = try await StoreCompaction(store, operationsPerChunk: 1_000).run(through: horizon)
        #expect(try store.image() == image, "a second time, \(comment)")
        return compacted
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `tables, outbox and journal are the same at every horizon`(seed: UInt64) async throws {
        let history = try CompactionHistory(seed: seed)
        try await history.run(7)
        try await history.settle()
        for horizon in Load.some(of: 1...(try history.store.head), oneOf: 9) {
            _ = try await checkedCompaction(
                of: history, through: horizon, perChunk: 1 + Int(horizon * 7 % 23), seed)
        }
    }

    @Test(arguments: Load.some(of: UInt64(100)...123, oneOf: 7))
    func `what comes later comes to the same`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let history = try CompactionHistory(seed: seed)
        try await history.run(12)
        if seed % 2 == 0 { try await history.settle() }
        var compacted = history
        for _ in 0..<3 {
            let horizon = UInt64.random(in: 1...(try history.store.head), using: &random)
            compacted = try await checkedCompaction(
                of: compacted, through: horizon, perChunk: Int.random(in: 1...40, using: &random),
                seed)
        }
        try await history.run(6)
        try await compacted.run(6)
        let comment = Comment(rawValue: "seed \(seed)")
        #expect(try compacted.store.tableImage() == history.store.tableImage(), comment)
        #expect(try compacted.store.pushes() == history.store.pushes(), comment)
        try await compacted.settle()
        let through = try compacted.store.head
        _ = try await checkedCompaction(of: compacted, through: through, perChunk: 9, seed)
    }
}
