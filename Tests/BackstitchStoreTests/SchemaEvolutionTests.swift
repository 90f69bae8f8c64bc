import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

enum Original {
    @Entity("Item") struct Item {
        var id = ID()
        var title: String
        var rank: Int?
        var code: String
    }
}

enum Added {
    @Entity("Item") struct Item {
        var id = ID()
        var title: String
        var rank: Int?
        var code: String
        var note: String?
        var stars = 3
    }
    @Entity("Other") struct Other {
        var id = ID()
        var text: String
    }
}

enum Indexed {
    @Entity("Item") struct Item {
        var id = ID()
        @Attribute(.indexed) var title: String
        var rank: Int?
        var code: String
    }
}

enum Removed {
    @Entity("Item") struct Item {
        var id = ID()
        var title: String
    }
}

enum Retyped {
    @Entity("Item") struct Item {
        var id = ID()
        var title: Int
        var rank: Int
        var code: String
        var extra: String
    }
}

@Suite(.budgeted) struct SchemaEvolutionTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let store = try folder.open(StoreSchema(Original.Item.self))
        try store.write { transaction in
            try transaction.save(Original.Item(id: "b", title: "B", code: "1"))
            try transaction.save(Original.Item(id: "a", title: "A", rank: 1, code: "2"))
        }
        store.close()
    }

    @Test func `an optional, a default and an entity can be added`() async throws {
        let store = try folder.open(StoreSchema(Added.Item.self, Added.Other.self))
        let item = try #require(try store.read { try $0.find(Added.Item.self, "a") })
        #expect(item.note == nil)
        #expect(item.stars == 3)
        let three = Query<Added.Item>().where(#Predicate { $0.stars == 3 })
        #expect(try store.read { try $0.count(three) } == 2)
        try await store.write { try $0.save(Added.Other(id: "o", text: "x")) }
        try await store.expectConsistent()
    }

    @Test func `an index can be added and removed, and the tables follow`() async throws {
        let query = Query<Indexed.Item>().sorted(by: \.title)
        let store = try folder.open(StoreSchema(Indexed.Item.self))
        #expect(try store.read { try $0.fetch(query).map(\.title) } == ["A", "B"])
        try await store.prepareIndexes()
        let withIndex = try store.verify().entries
        try await store.expectConsistent()
        store.close()
        let again = try folder.open(StoreSchema(Original.Item.self, version: 1))
        #expect(try again.verify().entries == withIndex - 2)
        try await again.expectConsistent()
    }

    @Test func `a removed attribute keeps its values for when it comes back`() async throws {
        let removed = try folder.open(StoreSchema(Removed.Item.self))
        try await removed.write { try $0.save(Removed.Item(id: "a", title: "Changed")) }
        try await removed.expectConsistent()
        removed.close()
        let store = try folder.open(StoreSchema(Original.Item.self))
        let item = try store.read { try $0.find(Original.Item.self, "a") }
        #expect(item?.title == "Changed")
        #expect(item?.code == "2")
        try await store.expectConsistent()
    }

    @Test func `a mandatory attribute can't come back to records without it`() async throws {
        let removed = try folder.open(StoreSchema(Removed.Item.self, version: 1))
        try await removed.write { try $0.save(Removed.Item(id: "new", title: "New")) }
        removed.close()
        let error = failure { _ = try folder.open(StoreSchema(Original.Item.self, version: 2)) }
        #expect(error?.code == .invalidSchema)
        #expect(error?.message.contains("Item.code") == true)
    }

    @Test func `all that the records forbid is in one error, and nothing changes`() throws {
        let error = try #require(failure { _ = try folder.open(StoreSchema(Retyped.Item.self)) })
        #expect(error.code == .invalidSchema)
        for name in ["Item.title was string", "Item.rank must", "Item.extra must"] {
            #expect(error.message.contains(name), "\(name)")
        }
        let store = try folder.open(StoreSchema(Original.Item.self))
        #expect(try store.read { try $0.count(Original.Item.self) } == 2)
        #expect(store.catalog.entities.first?.attributes.count == 3)
    }

    @Test func `an empty entity may change as it likes`() throws {
        let store = try folder.open(StoreSchema(Original.Item.self))
        try store.write { transaction in
            for id in ["a", "b"] { try transaction.delete(Original.Item.ID(id)) }
        }
        store.close()
        #expect(failure { _ = try folder.open(StoreSchema(Retyped.Item.self)) } == nil)
    }

    @Test func `what an older schema pulled appears with the newer one`() async throws {
        let old = try folder.open(StoreSchema(Original.Item.self))
        let records = [
            ServiceRecord(
                recordName: "o", recordType: "Other", changeTag: "1", modifiedMilliseconds: 1,
                fields: ["text": .string("kept")]),
            ServiceRecord(
                recordName: "i", recordType: "Item", changeTag: "1", modifiedMilliseconds: 1,
                fields: [
                    "title": .string("I"), "code": .string("3"), "stars": .int64(5),
                ]),
        ]
        try await old.withLogWriter { context in
            for record in records { _ = try context.merge(record, policy: .serverWins) }
        }
        old.close()
        let store = try folder.open(StoreSchema(Added.Item.self, Added.Other.self))
        #expect(try store.read { try $0.find(Added.Other.self, "o") }?.text == "kept")
        #expect(try store.read { try $0.find(Added.Item.self, "i") }?.stars == 5)
        try await store.expectConsistent()
    }
}
