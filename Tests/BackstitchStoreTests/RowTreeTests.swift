import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Entity struct TreeItem: Equatable {
    var id = ID()
    @Attribute(.indexed) var name: String
    var count: Int
}

@Entity struct TreeOther: Equatable {
    var id = ID()
    var text: String
}

@Entity struct TreeLater: Equatable {
    var id = ID()
    var text: String
}

/// The rows of each entity in a tree of their own.
@Suite(.budgeted) struct RowTreeTests {
    /// The leaf pages of an entity's rows, and how many there would be if all were full.
    private func pages(_ store: Store, _ name: String) throws -> (leaves: Int, full: Int) {
        try store.environment.read { transaction in
            let access = transaction.access
            let entity = try #require(store.catalog.entities.first { $0.name == name }).number
            let rows = try #require(access.rows(of: entity))
            var bytes = 0
            try access.withCursor(in: rows) { cursor in
                // A node has 8 bytes of its own and 2 in the page's list, and begins at an even place.
                while try cursor.next() {
                    bytes += (8 + cursor.key.count + cursor.value.count + 1) / 2 * 2 + 2
                }
            }
            return (try access.statistics(of: rows).leafPages, bytes / (4_096 - 16) + 1)
        }
    }

    @Test func `rows that come in the order of their keys fill pages, in each of two entities`()
        async throws
    {
        let store = try Store.inMemory(schema: StoreSchema(TreeItem.self, TreeOther.self))
        for batch in 0..<50 {
            try await store.write { tx in
                for number in 0..<40 {
                    try tx.save(TreeItem(name: "item \(number * 7_919 % 40)", count: batch))
                    try tx.save(TreeOther(text: String(repeating: "x", count: number)))
                }
            }
        }
        for name in ["TreeItem", "TreeOther"] {
            let (leaves, full) = try pages(store, name)
            #expect(leaves > 20 && leaves * 100 <= full * 112, "\(name): \(leaves) of \(full)")
        }
    }

    @Test func `a store with 300 entities works like any other`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(StoreSchema(TreeItem.self))
        let names = Set((0..<299).map { "Type\($0)" })
        try await store.withLogWriter { try $0.catalogChanges.numberTables(named: names) }
        #expect(store.catalog.entities.count == 300)
        for name in names.sorted() {
            try await store.pull(name, "r-\(name)", ["text": .string(name)])
        }
        try await store.write { _ = try $0.save(TreeItem(id: "i", name: "n", count: 1)) }
        #expect(try store.environment.read { $0.access.members } == 300)
        try await store.expectConsistent()
        try await store.compact(.keepUnsyncedOnly)
        store.close()
        let again = try folder.open(StoreSchema(TreeItem.self))
        for name in names {
            let record = try again.read { try $0.record("r-\(name)", of: name) }
            #expect(record?.values["text"] == .string(name))
        }
        try await again.expectConsistent()
        try StoreBackup(of: again, to: folder.root + "/copy").make()
        again.close()
        try Store.rewriteFile(at: folder.store)
        #expect(try Store.open(existing: folder.store).verify().problems == [])
        #expect(try Store.open(existing: folder.root + "/copy").verify().problems == [])
    }

    @Test func `a write that is given up leaves no entity, and the next one numbers it`()
        async throws
    {
        struct Planned: Error {}
        let store = try Store.inMemory(schema: StoreSchema(TreeItem.self))
        for _ in 0..<2 {
            await #expect(throws: Planned.self) {
                try await store.withLogWriter { log in
                    let table = try log.catalogChanges.table(named: "New")
                    _ = try log.access.rowsForWriting(of: table.number)
                    throw Planned()
                }
            }
            #expect(try store.environment.read { $0.access.members } == 1)
        }
        try await store.pull("New", "r", ["text": .string("x")])
        #expect(try store.environment.read { $0.access.members } == 2)
        #expect(try store.read { try $0.record("r", of: "New") } != nil)
        try await store.expectConsistent()
    }

    @Test func `an entity that another process numbered is read and written`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(StoreSchema(TreeItem.self))
        try await store.write { _ = try $0.save(TreeItem(id: "a", name: "a", count: 1)) }
        await #expect(processExitsWith: .success) { [path = folder.store as String] in
            let store = try Store(
                at: path, schema: StoreSchema(TreeItem.self, TreeOther.self, TreeLater.self),
                configuration: .quick)
            try await store.write { tx in
                _ = try tx.save(TreeLater(id: "later", text: "from elsewhere"))
                _ = try tx.save(TreeItem(id: "b", name: "b", count: 2))
            }
            store.close()
        }
        let record = try store.read { try $0.record("later", of: "TreeLater") }
        #expect(record?.values["text"] == .string("from elsewhere"))
        try await store.pull("TreeOther", "other", ["text": .string("here")])
        try await store.pull("Fourth", "fourth", ["text": .string("here too")])
        #expect(try store.read { try $0.fetch(TreeItem.self).count } == 2)
        try await store.expectConsistent()
        #expect(try store.environment.read { $0.access.members } == 4)
    }

    @Test func `a tree that is missing is found, and rows come back`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(StoreSchema(TreeItem.self))
        try await store.write { _ = try $0.save(TreeItem(id: "a", name: "a", count: 1)) }
        store.close()
        // The catalog numbers an entity more than there are trees.
        try folder.tamper { access, databases in
            var catalog = try #require(try Catalog.stored(access, databases))
            _ = catalog.intern(entity: "Lost")
            try access.putMeta(MetaName.catalog, CatalogCoding.encode(catalog), databases)
        }
        let problems = try Store.open(existing: folder.store).verify().problems
        #expect(problems.first?.contains("tree") == true)
        let again = try folder.open(StoreSchema(TreeItem.self))
        _ = try await again.rebuild()
        try await again.expectConsistent()
    }
}
