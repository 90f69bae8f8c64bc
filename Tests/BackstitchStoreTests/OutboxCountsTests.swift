import Backstitch
import BackstitchRepair
import BackstitchCore
import BackstitchSync
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

/// The counts of what waits, which every commit keeps up.
@Suite(.budgeted) struct OutboxCountsTests {
    /// What the rows say.
    private func counted(_ store: Store) throws -> OutboxTally {
        try store.read { transaction in
            var counting = OutboxCounting(sequence: 1, position: [])
            try OutboxCounter(transaction.reader).goOn(&counting, budget: .max)
            return counting.tally
        }
    }

    private func stored(_ store: Store) throws -> OutboxCounting {
        try store.read { try OutboxCounter($0.reader).counting(at: $0.reader.log.head) }
    }

    /// Replaces the stored counts behind the store's back, as a program that does not know them
    /// leaves them.
    private func setStored(_ bytes: [UInt8]?, _ store: Store) throws {
        try store.environment.tamper { access, databases in
            if let bytes {
                try access.putMeta(MetaName.outboxCounts, bytes, databases)
            } else {
                try access.deleteMeta(MetaName.outboxCounts, databases)
            }
        }
    }

    @Test(arguments: 1...24 as ClosedRange<UInt64>)
    func `edits and replies of all kinds keep them`(seed: UInt64) async throws {
        let history = try CompactionHistory(seed: seed)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<12 {
            try await history.run(1)
            let now = try stored(history.store)
            #expect(now.isComplete)
            #expect(try now.tally == counted(history.store), "seed \(seed)")
            if Int.random(in: 0..<4, using: &random) == 0 {
                let head = try history.store.head
                _ = try await StoreCompaction(history.store, operationsPerChunk: 7).run(
                    through: UInt64.random(in: 1...head, using: &random))
            }
            if Int.random(in: 0..<6, using: &random) == 0 {
                try await history.store.withLogWriter { try ZoneLoss($0, in: 0).eraseRecords() }
                #expect(try stored(history.store).tally == counted(history.store))
            }
        }
        #expect(try history.store.verify().problems == [])
    }

    @Test(arguments: Load.some(of: UInt64(50)...61, oneOf: 7))
    func `they are made again beside writes, after a program that does not keep them`(
        seed: UInt64
    ) async throws {
        let history = try CompactionHistory(seed: seed)
        let store = history.store
        try await store.write { transaction in
            for number in 0..<3_000 {
                try transaction.save(Project(id: .init("p\(number)"), title: "t"))
            }
        }
        try await history.run(3)
        // Its commit brings operations, and leaves the counts of the one before.
        let before = try stored(store)
        try await store.write { _ = try $0.save(Project(id: "other", title: "t")) }
        try setStored(before.bytes, store)
        #expect(try stored(store).isComplete == false)
        #expect(try store.read { try OutboxCounter($0.reader).tally } == counted(store))
        var steps = 0
        while try stored(store).isComplete == false, steps < 40 {
            try await history.run(1)
            #expect(try store.verify().problems == [], "seed \(seed), step \(steps)")
            steps += 1
        }
        #expect(steps > 1 && steps < 40)
        #expect(try stored(store).tally == counted(store))
    }

    @Test func `a store without them counts in the background when it is opened`() async throws {
        let folder = try TemporaryFolder(inMemory: true)
        var store = try folder.open()
        try await store.write { transaction in
            for number in 0..<2_500 {
                try transaction.save(Project(id: .init("p\(number)"), title: "t"))
            }
        }
        let tally = try stored(store).tally
        #expect(tally.entities.values.map(\.pendingRecords) == [2_500])
        try setStored(nil, store)
        store.close()
        store = try folder.open()
        await BackgroundSchemaWork(store).wait()
        let counting = try stored(store)
        #expect(counting.isComplete && counting.tally == tally)
        store.close()
    }

    @Test func `verify notices false ones, and a rebuild and a repair count again`() async throws {
        let folder = try TemporaryFolder(inMemory: true)
        var store = try folder.open()
        try await store.write { try $0.save(Project(id: "p", title: "t")) }
        let right = try stored(store)
        var wrong = right
        wrong.tally.conflicts += 1
        wrong.tally.add(
            records: 1, operations: 2, isParked: true,
            of: try #require(right.tally.entities.keys.first), in: 0)
        try setStored(wrong.bytes, store)
        let problems = try store.verify().problems
        #expect(problems.count == 1 && problems[0].contains("counts"))
        try await store.rebuild()
        #expect(try store.verify().problems == [])
        #expect(try stored(store) == right)
        try setStored(wrong.bytes, store)
        store.close()
        _ = try StoreRepair(folder.store).repair(milliseconds: 1)
        store = try folder.open()
        #expect(try stored(store).tally == right.tally)
        #expect(try store.verify().problems == [])
        store.close()
    }

    @Test func `each zone has counts, and one zone alone is stored as before`() async throws {
        let store = try Store.inMemory(schema: .all, configuration: .quick)
        try await store.write { try $0.save(Project(id: "p", title: "t")) }
        var counting = try stored(store)
        #expect(counting.bytes[1] == 0 && counting.tally.zones == [:])
        #expect(counting.tally.counts(in: 0) == counting.tally.entities.values.first)

        let list = try await store.addZone()
        try await store.write { transaction in
            for name in ["p", "q", "r"] {
                try transaction.save(Project(id: .init(name, in: list), title: "t"))
            }
            try transaction.save(Department(id: .init("d", in: list), name: "D"))
        }
        try await store.write {
            try $0.save(Project(id: .init("q", in: list), title: "u"))
            _ = try $0.delete(Project.ID("r", in: list))
        }
        counting = try stored(store)
        #expect(try counting.tally == counted(store))
        #expect(counting.bytes[1] == 4 && OutboxCounting(counting.bytes) == counting)
        for end in 10..<counting.bytes.count {
            #expect(OutboxCounting(Array(counting.bytes[..<end])) == nil)
        }
        let there = counting.tally.counts(in: list.slot)
        #expect(there.records == 3 && there.pendingRecords == 4 && there.pendingOperations == 6)
        let own = counting.tally.counts(in: 0)
        #expect(own.records == 1 && own.pendingRecords == 1 && own.tombstones == 0)
        #expect(try store.read { try StoreInfo.Outbox($0.reader) }.pendingRecords == 5)
        // While it is being made, the place follows the zones.
        var begun = counting
        begun.position = [1, 2, 3]
        #expect(begun.bytes[1] == 5 && OutboxCounting(begun.bytes) == begun)
        #expect(try store.verify().problems == [])
    }

    @Test func `bytes that are none count again`() async throws {
        let store = try Store.inMemory(schema: .all, configuration: .quick)
        try await store.write { try $0.save(Project(id: "p", title: "t")) }
        let right = try stored(store).bytes
        for bytes in [[], [9] + right.dropFirst(), Array(right.dropLast()), right + [0]]
            as [[UInt8]]
        {
            try setStored(bytes, store)
            #expect(try stored(store).isComplete == false)
            #expect(try store.read { try StoreInfo.Outbox($0.reader) }.pendingRecords == 1)
        }
        try await store.write { _ = try $0.save(Project(id: "p", title: "u")) }
        #expect(try stored(store).isComplete)
        #expect(try store.read { try StoreInfo.Outbox($0.reader) }.pendingOperations == 2)
    }

    @Test func `counting reads no operation and no row`() throws {
        let store = try Store.inMemory(schema: .all, configuration: .quick)
        try store.write { transaction in
            for number in 0..<500 {
                try transaction.save(Project(id: .init("p\(number)"), title: "t"))
            }
        }
        // With the log's operations out of the way, only what is kept up can be right.
        try store.environment.tamper { access, databases in
            for sequence in 1..<500 as Range<UInt64> {
                _ = try TableKey.withSequence(sequence) {
                    try access.delete($0, in: databases.log)
                }
            }
        }
        let counts = try store.read { try StoreInfo.Outbox($0.reader) }
        #expect(counts.pendingRecords == 500 && counts.pendingOperations == 500)
    }

    @Test func `a failed write leaves no count`() async throws {
        struct Failure: Error {}
        let store = try Store.inMemory(schema: .all, configuration: .quick)
        try await store.write { try $0.save(Project(id: "p", title: "t")) }
        for _ in 0..<3 {
            await #expect(throws: Failure.self) {
                try await store.write { transaction in
                    try transaction.save(Project(id: "q", title: "t"))
                    throw Failure()
                }
            }
        }
        #expect(try stored(store).tally == counted(store))
        #expect(try store.read { try StoreInfo.Outbox($0.reader) }.pendingRecords == 1)
    }
}
