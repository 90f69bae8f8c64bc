import Backstitch
import BackstitchLog
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct SavepointTests {
    /// Log, tables and views of a store.
    private func contents(_ store: Store) throws -> [[UInt8]] {
        try store.environment.read { transaction in
            var contents: [[UInt8]] = []
            for database in transaction.access.all(of: store.databases) {
                try transaction.access.withCursor(in: database) { cursor in
                    while try cursor.next() {
                        // The catalog, its copy and their checksums have the store's identity.
                        let name = String(decoding: cursor.key, as: UTF8.self)
                        let isCatalog = name.contains(MetaName.catalog)
                        contents += [Array(cursor.key), isCatalog ? [] : Array(cursor.value)]
                    }
                }
            }
            return contents
        }
    }

    @Test func `a part that throws leaves nothing, and the write goes on`() async throws {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        var changes = store.changes().makeAsyncIterator()
        let result = try await store.write { tx in
            try tx.save(Department(id: "a", name: "A"))
            #expect(throws: Planned.self) {
                try tx.savepoint { tx in
                    try tx.save(Department(id: "a", name: "changed"))
                    try tx.save(Department(id: "b", name: "B"))
                    #expect(try tx.count(Query<Department>()) == 2)
                    throw Planned()
                }
            }
            #expect(try tx.find(Department.self, "a")?.name == "A")
            #expect(try !tx.exists(Department.ID("b")))
            return try tx.savepoint { tx in
                try tx.save(Department(id: "c", name: "C"))
                return tx.lastSequence
            }
        }
        #expect(result == 2)
        let change = await changes.next()
        #expect(change?.inserted(Department.self) == ["a", "c"])
        #expect(try store.read { try $0.fetch(Department.self).map(\.name) } == ["A", "C"])
        try store.expect(mirror)
        try await store.expectConsistent()
    }

    @Test func `what was unique within a part that threw does not count, the rest does`()
        async throws
    {
        let store = try Store.inMemory(schema: StoreSchema(Badged.self))
        try await store.write { tx in
            try tx.save(Badged(id: "a", number: 1))
            _ = try? tx.savepoint { tx in
                try tx.save(Badged(id: "b", number: 1))
                throw Planned()
            }
        }
        await #expect(throws: StoreError.self) {
            try await store.write { tx in
                try tx.savepoint { _ = try $0.save(Badged(id: "c", number: 1)) }
            }
        }
        #expect(try store.read { try $0.count(Badged.self) } == 1)
    }

    @Test func `a write of nothing but a part that threw changes nothing`() async throws {
        let store = try Store.inMemory(schema: .all)
        let id = try await store.write { tx in
            _ = try? tx.savepoint { tx in
                try tx.save(Department(id: "b", name: "B"))
                #expect(tx.id == 1)
                throw Planned()
            }
            return tx.id
        }
        #expect(id == nil)
        #expect(try store.head == 0)
        try await store.expectConsistent()
    }

    @Test(arguments: 0..<25 as Range<UInt64>)
    func `parts that throw leave the same bytes as no parts`(seed: UInt64) async throws {
        let clock = ManualClock()
        var configuration = StoreConfiguration(durability: .relaxed, projections: [Mirror()])
        configuration.clock = clock
        let stores = [
            try Store.inMemory(schema: .all, configuration: configuration),
            try Store.inMemory(schema: .all, configuration: configuration),
        ]
        var model = StoreModel(seed: seed)
        var streams = stores.map { $0.changes().makeAsyncIterator() }
        var head: [UInt64] = [0, 0]
        for _ in 0..<30 {
            let plan = (0...Int.random(in: 0..<4, using: &model.generator)).map { _ in
                (model.steps(), model.steps(), Int.random(in: 0..<4, using: &model.generator))
            }
            for (index, store) in stores.enumerated() {
                try await store.write { tx in
                    for (kept, dropped, form) in plan {
                        if index == 0, form > 0 {
                            _ = try? tx.savepoint { tx in
                                for step in dropped { try step.perform(tx) }
                                if form == 2 {
                                    try tx.savepoint { tx in
                                        for step in kept { try step.perform(tx) }
                                    }
                                }
                                throw Planned()
                            }
                        }
                        if index == 0, form == 3 {
                            try tx.savepoint { tx in
                                for step in kept { try step.perform(tx) }
                            }
                        } else {
                            for step in kept { try step.perform(tx) }
                        }
                    }
                }
            }
            // What is told of the write is the same too.
            let heads = try stores.map { try $0.head }
            if heads != head {
                let told = [await streams[0].next(), await streams[1].next()]
                #expect(told[0] != nil && told[0] == told[1], "seed \(seed)")
            }
            head = heads
        }
        #expect(try contents(stores[0]) == contents(stores[1]), "seed \(seed)")
        try await stores[0].expectConsistent()
    }

    @Test func `a full store fails the write even if the error of a part is caught`() async throws {
        var configuration = StoreConfiguration(durability: .relaxed)
        configuration.bytesMax = 1 << 20
        let store = try Store.inMemory(schema: .all, configuration: configuration)
        try await store.write { _ = try $0.save(Department(id: "a", name: "A")) }
        let large = String(repeating: "x", count: 500_000)
        await #expect(throws: StoreError.self) {
            try await store.write { tx in
                try tx.save(Department(id: "b", name: "B"))
                for _ in 0..<8 {
                    _ = try? tx.savepoint { _ = try $0.save(Department(name: large)) }
                }
            }
        }
        #expect(try store.read { try $0.fetch(Department.self).map(\.name) } == ["A"])
        try await store.expectConsistent()
    }
}

@Entity private struct Badged: Equatable {
    var id = ID()
    @Attribute(.unique) var number: Int
}
