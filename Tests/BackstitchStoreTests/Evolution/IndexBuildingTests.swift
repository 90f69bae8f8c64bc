import Backstitch
import BackstitchCore
import Foundation
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

enum BuildingPlain {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        var title: String
        var rank = 1
    }
}
enum BuildingSorted {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed) var title: String
        @Attribute(.indexed) var rank = 1
    }
}

@Suite(.budgeted) struct IndexBuildingTests {
    private let folder: TemporaryFolder
    private static let count = 3 * SchemaWorkPace.recordsMin / 2

    init() throws {
        folder = try TemporaryFolder()
        let store = try folder.open(StoreSchema(BuildingPlain.Item.self))
        try store.write { transaction in
            for number in 0..<Self.count {
                try transaction.save(
                    BuildingPlain.Item(id: .init("i\(number + 1_000)"), title: "t\(number % 7)"))
            }
        }
        store.close()
    }

    private let query = Query<BuildingSorted.Item>().where(#Predicate { $0.title == "t3" })

    private func open(works: Bool) throws -> Store {
        let store = try folder.open(StoreSchema(BuildingSorted.Item.self))
        if !works { store.schemaWork.withLock { $0?.cancel() } }
        return store
    }

    private func explanation(_ store: Store) throws -> String {
        try store.read { "\(try $0.explain(query))" }
    }

    /// Ends what was begun in the background and undoes it, so that a test sees every step.
    private func rewind(_ store: Store) async throws {
        store.schemaWork.withLock { $0?.cancel() }
        await store.schemaWork.withLock { $0 }?.value
        try await store.withLogWriter { context in
            var catalog = context.catalog.catalog
            for entity in catalog.entities.indices {
                catalog.beginWork(ofEntityAt: entity)
            }
            try context.setMeta(MetaName.catalog, try CatalogCoding.encode(catalog))
            try context.deleteMeta(MetaName.schemaWork)
            for attribute in context.catalog.tables[0].indexed {
                try context.withProjector {
                    try $0.clearIndex(context.catalog.tables[0].number, attribute.field)
                }
            }
        }
    }

    @Test func `a new index is built while the store is in use, and used when it is done`()
        async throws
    {
        let store = try open(works: true)
        try await rewind(store)
        #expect(try store.indexesBeingBuilt == ["Item.title", "Item.rank"])
        let before = try explanation(store)
        let expected = try store.read { try $0.fetch(query).count }
        #expect(try await store.withLogWriter { try SchemaWork($0).goOn(limit: 256) } == 256)
        #expect(try store.verify().problems == [])
        // Before and behind the place that the work has come to.
        try await store.write { transaction in
            try transaction.save(BuildingSorted.Item(id: "i1000", title: "t3"))
            try transaction.save(BuildingSorted.Item(id: "i1300", title: "t3"))
            try transaction.save(BuildingSorted.Item(id: "new", title: "t3", rank: 2))
            _ = try transaction.delete(BuildingSorted.Item.ID("i1003"))
            _ = try transaction.delete(BuildingSorted.Item.ID("i1318"))
        }
        #expect(try store.verify().problems == [])
        #expect(try explanation(store) == before)
        let told = Locked<[(done: Int, total: Int)]>([])
        try await store.prepareIndexes { done, total in
            told.withLock { $0.append((done, total)) }
        }
        #expect(told.withLock { $0.last.map { $0.done <= $0.total } } == true)
        #expect(try store.indexesBeingBuilt == [])
        #expect(try explanation(store) != before)
        #expect(try store.read { try $0.fetch(query).count } >= expected)
        try await store.expectConsistent()
    }

    @Test func `work that was cut off goes on at the next open`() async throws {
        let store = try open(works: true)
        try await rewind(store)
        #expect(try await store.withLogWriter { try SchemaWork($0).goOn(limit: 256) } == 256)
        store.close()
        let again = try folder.open(StoreSchema(BuildingSorted.Item.self))
        try await again.prepareIndexes()
        #expect(try again.indexesBeingBuilt == [])
        try await again.expectConsistent()
        again.close()
        let last = try folder.open(StoreSchema(BuildingSorted.Item.self))
        #expect(last.schemaWork.withLock { $0 } == nil)
    }

    @Test func `a failed commit leaves the work where it was`() async throws {
        let store = try open(works: true)
        try await rewind(store)
        store.setCommitFault { throw Planned() }
        await #expect(throws: Planned.self) { try await store.prepareIndexes() }
        store.setCommitFault(nil)
        #expect(try store.indexesBeingBuilt.count == 2)
        try await store.prepareIndexes()
        try await store.expectConsistent()
    }

    @Test func `an index that is no longer asked for goes, built or not`() async throws {
        let store = try open(works: true)
        try await rewind(store)
        #expect(try await store.withLogWriter { try SchemaWork($0).goOn(limit: 256) } == 256)
        store.close()
        let plain = try folder.open(StoreSchema(BuildingPlain.Item.self, version: 1))
        #expect(try plain.indexesBeingBuilt == [])
        try await plain.expectConsistent()
    }

    @Test func `a rebuild in between makes all entries, and the work ends well`() async throws {
        let store = try open(works: true)
        try await rewind(store)
        try await store.rebuild()
        #expect(try store.read { try $0.fetch(query).count } > 0)
        try await store.prepareIndexes()
        try await store.expectConsistent()
    }

    @Test func `commits grow while they are short, and shrink when they are long`() {
        var pace = SchemaWorkPace()
        #expect(pace.records == SchemaWorkPace.recordsMin)
        pace.note(milliseconds: 25)
        #expect(pace.records == 512)
        pace.note(milliseconds: 26)
        pace.note(milliseconds: 100)
        #expect(pace.records == 512)
        pace.note(milliseconds: 101)
        #expect(pace.records == 256)
        pace.note(milliseconds: .max)
        #expect(pace.records == SchemaWorkPace.recordsMin)
        // A clock that was set back.
        for _ in 0..<20 { pace.note(milliseconds: .min) }
        #expect(pace.records == SchemaWorkPace.recordsMax)
    }

    @Test func `a commit copies some megabytes, however large records are`() async throws {
        let store = try open(works: true)
        let megabyte = 1 << 20
        let count = StoredBody.bytesMax / megabyte + 4
        try await store.write { transaction in
            for number in 0..<count {
                try transaction.save(
                    BuildingSorted.Item(
                        id: .init("large\(number)"),
                        title: String(repeating: "t", count: megabyte)))
            }
        }
        try await rewind(store)
        let limit = SchemaWorkPace.recordsMax
        let first = try await store.withLogWriter { try SchemaWork($0).goOn(limit: limit) }
        #expect(try #require(first) < Self.count + count)
        #expect(try store.indexesBeingBuilt.count == 2)
        try await store.prepareIndexes()
        #expect(try store.indexesBeingBuilt == [])
        try await store.expectConsistent()
    }

    @Test func `a damaged place begins the work anew`() async throws {
        let store = try open(works: true)
        try await rewind(store)
        try await store.withLogWriter { try $0.setMeta(MetaName.schemaWork, [0, 1, 77]) }
        try await store.prepareIndexes()
        try await store.expectConsistent()
    }
}
