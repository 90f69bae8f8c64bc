import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

enum RenamingFirst {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed) var title: String
    }
}
enum RenamingSecond {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed, originalName: "title") var name: String
    }
}
enum RenamingThird {
    @Entity("Item") struct Thing: Equatable {
        var id = ID()
        @Attribute(.indexed, originalName: "title") var label: String
        var name: String?
    }
}
enum RenamingForgotten {
    @Entity("Item") struct Item {
        var id = ID()
        var name: String
    }
}
enum RenamingChained {
    @Entity("Item") struct Item {
        var id = ID()
        @Attribute(originalName: "name") var label: String
    }
}
enum RenamingNeedless {
    @Entity("Item") struct Item {
        var id = ID()
        @Attribute(originalName: "caption") var title: String
    }
}

@Suite(.budgeted) struct RenamingTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let store = try folder.open(StoreSchema(RenamingFirst.Item.self))
        try store.write { try $0.save(RenamingFirst.Item(id: "a", title: "A")) }
        store.close()
    }

    @Test func `a renamed attribute has its values, index and field`() async throws {
        let store = try folder.open(StoreSchema(RenamingSecond.Item.self))
        #expect(try store.indexesBeingBuilt == [])
        let query = Query<RenamingSecond.Item>().where(#Predicate { $0.name == "A" })
        #expect(try store.read { try $0.fetch(query).map(\.id) } == ["a"])
        #expect(try store.read { try $0.record("a", of: "Item") }?.values == ["name": .string("A")])
        try await store.pull("Item", "b", ["title": .string("B")])
        #expect(try store.read { try $0.find(RenamingSecond.Item.self, "b") }?.name == "B")
        try await store.expectConsistent()
    }

    @Test(arguments: [true, false])
    func `renames over several versions, skipped ones too`(isStepwise: Bool) async throws {
        if isStepwise { try folder.open(StoreSchema(RenamingSecond.Item.self)).close() }
        let store = try folder.open(StoreSchema(RenamingThird.Thing.self))
        #expect(
            try store.read { try $0.fetch(RenamingThird.Thing.self) }
                == [RenamingThird.Thing(id: "a", label: "A", name: nil)])
        try await store.expectConsistent()
        store.close()
        let old = try folder.open(StoreSchema(RenamingFirst.Item.self))
        #expect(try old.read { try $0.find(RenamingFirst.Item.self, "a") }?.title == "A")
    }

    @Test func `a new device has the same field`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(RenamingThird.Thing.self))
        try await store.pull("Item", "a", ["title": .string("A"), "name": .string("N")])
        #expect(
            try store.read { try $0.find(RenamingThird.Thing.self, "a") }
                == RenamingThird.Thing(id: "a", label: "A", name: "N"))
    }

    @Test func `names that lose the values are refused with the right one`() throws {
        try folder.open(StoreSchema(RenamingSecond.Item.self)).close()
        for schema in [
            StoreSchema(RenamingForgotten.Item.self), StoreSchema(RenamingChained.Item.self),
        ] {
            let error = try #require(failure { _ = try folder.open(schema) })
            #expect(error.code == .invalidSchema)
            #expect(error.message.contains("write originalName: \"title\""))
        }
    }

    @Test func `a name that was never another is told so`() throws {
        let error = try #require(
            failure { _ = try folder.open(StoreSchema(RenamingNeedless.Item.self)) })
        #expect(error.message.contains("Item.title was stored under its own name"))
    }
}
