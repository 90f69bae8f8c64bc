import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

enum ExaminedMood: String, EnumAttributeValue { case glad }
enum ExaminedMoods: String, EnumAttributeValue { case glad, sad }

enum ExaminedOld {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        var title: String
        var mood: ExaminedMood = .glad
    }
}
enum ExaminedNew {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        var title: String?
        @Attribute(.indexed) var mood: ExaminedMoods = .glad
        var stars: Int16?
    }
}

@Suite(.budgeted) struct ExaminationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `records become readable with a schema that fits, and the reverse`() async throws {
        let old = try folder.open(StoreSchema(ExaminedOld.Item.self))
        try await old.pull("Item", "case", ["title": .string("A"), "mood": .string("sad")])
        try await old.pull("Item", "none", ["mood": .string("glad")])
        try await old.pull("Item", "worse", ["title": .string("C"), "mood": .string("odd")])
        try await old.pull("Item", "stars", ["title": .string("D"), "stars": .int64(99_999)])
        try await old.pull("Item", "fine", ["title": .string("E")])
        #expect(
            try old.read { try $0.fetch(ExaminedOld.Item.self).map(\.id) } == ["fine", "stars"])
        old.close()
        let store = try folder.open(StoreSchema(ExaminedNew.Item.self))
        try await store.prepareIndexes()
        let ids = ["case", "fine", "none"].map { ExaminedNew.Item.ID($0) }
        #expect(try store.read { try $0.fetch(ExaminedNew.Item.self).map(\.id) } == ids)
        let sad = ExaminedMoods.sad
        let query = Query<ExaminedNew.Item>().where(#Predicate { $0.mood == sad })
        #expect(try store.read { try $0.fetch(query).map(\.id) } == ["case"])
        #expect(try store.pushesByName() == [:])
        for name in ["worse", "stars"] {
            #expect(try store.read { try $0.record(name, of: "Item") }?.state == .unreadable)
        }
        #expect(try store.read { try $0.record("case", of: "Item") }?.state == .synced)
        try await store.expectConsistent()
        // A later version of a record is taken over as before.
        let later = try await store.pull(
            "Item", "case", tag: "2", at: 2, ["title": .string("A2"), "mood": .string("glad")])
        #expect(later == .applied)
        #expect(try store.read { try $0.find(ExaminedNew.Item.self, "case") }?.title == "A2")
    }
}
