import Backstitch
import BackstitchCore
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

/// Compaction that commits do in passing, and beside writers and readers.
@Suite(.budgeted) struct CompactionInPassingTests {
    /// Edits that are taken by the service at once: three operations in each write.
    private func edit(_ store: Store, _ writes: Range<Int>, perWrite: Int = 250) async throws {
        for write in writes {
            try await store.write { transaction in
                for number in 0..<perWrite {
                    let id = Department.ID("d\(number % 50)")
                    try transaction.save(Department(id: id, name: "\(write) \(number)"))
                }
            }
            try await store.settle()
        }
    }

    @Test func `commits shorten the log where the configuration wants it`() async throws {
        let store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(retention: .keepUnsyncedOnly))
        try await edit(store, 0..<20)
        let info = try store.info()
        #expect(info.lastSequence == 6_000)
        #expect(info.operations < 3_000, "\(info.operations) operations are left")
        #expect(store.compactionFailure == nil)
        try await store.expectConsistent()
    }

    @Test func `commits leave the log alone without a policy`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await edit(store, 0..<16)
        let info = try store.info()
        #expect(info.operations == Int(info.lastSequence))
        #expect(info.compactedThrough == 0)
    }

    @Test func `a damaged log does not keep anybody from writing`() async throws {
        let store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(retention: .keepUnsyncedOnly))
        try await edit(store, 0..<1)
        try store.change(7) { $0[$0.count / 2] ^= 1 }
        try await edit(store, 1..<16)
        #expect(store.compactionFailure?.code == .damaged)
        #expect(store.compactionFailure?.message.contains("Operation 7 ") == true)
        #expect(try store.info().compactedThrough == 0)
        #expect(try store.read { try $0.find(Department.self, "d49") }?.name == "15 249")
    }

    @Test func `a write that fails takes its share of compaction back`() async throws {
        let store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(retention: .keepUnsyncedOnly))
        let fails = Locked(false)
        store.setCommitFault { if fails.withLock({ $0 }) { throw Planned() } }
        try await edit(store, 0..<13)
        for round in 13..<17 {
            try await edit(store, round..<(round + 1))
            let image = try store.image()
            fails.withLock { $0 = true }
            await #expect(throws: Planned.self) {
                try await store.write { transaction in
                    for number in 0..<600 {
                        try transaction.save(Project(id: .init("p\(number)"), title: "x"))
                    }
                }
            }
            fails.withLock { $0 = false }
            #expect(try store.image() == image)
        }
        #expect(try store.info().compactedThrough > 0)
        try await store.expectConsistent()
    }

    @Test func `writers and readers go on beside it`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        defer { store.close() }
        try await edit(store, 0..<4)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<6 {
                    try await store.write { transaction in
                        for number in 0..<20 {
                            try transaction.save(
                                Department(id: .init("d\(number)"), name: "new \(round)"))
                        }
                    }
                    try await store.settle()
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<4 {
                        _ = try await StoreCompaction(store, operationsPerChunk: 40).run(
                            through: .max)
                    }
                }
            }
            group.addTask {
                for _ in 0..<40 {
                    let names = try store.read { transaction in
                        try transaction.fetch(Department.self).prefix(20).map(\.name)
                    }
                    #expect(names.count == 20)
                    await Task.yield()
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.info().operations < 1_500)
        try await store.expectConsistent()
    }
}
