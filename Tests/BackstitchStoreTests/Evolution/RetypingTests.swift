import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

enum RetypingMood: String, EnumAttributeValue { case glad, sad }
enum RetypingJoy: String, EnumAttributeValue { case glad }

enum RetypingNarrow {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed) var isDone: Bool
        @Attribute(.indexed) var count: Int16
        var ratio: Float
        var link: URL
        var mood: RetypingMood
        var ranks: [Int32]
        var code: String
    }
}
enum RetypingWide {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed) var isDone: Int
        @Attribute(.indexed) var count: Int64?
        var ratio: Double
        var link: String
        var mood: String
        var ranks: [Int64]?
        var code: String
    }
}
enum RetypingOther {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed) var count: String
        @Attribute(.unique) var code: Int
    }
}
enum RetypingFewer {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        var mood: RetypingJoy
    }
}

@Suite(.budgeted) struct RetypingTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let link = try #require(URL(string: "https://example.org"))
        let store = try folder.open(StoreSchema(RetypingNarrow.Item.self))
        try store.write { transaction in
            for number in 1...3 {
                try transaction.save(
                    RetypingNarrow.Item(
                        id: .init("i\(number)"), isDone: number == 2, count: Int16(number),
                        ratio: 0.5, link: link, mood: number == 3 ? .sad : .glad, ranks: [7],
                        code: "\(number)0"))
            }
        }
        store.close()
    }

    @Test func `types widen by themselves`() async throws {
        let store = try folder.open(StoreSchema(RetypingWide.Item.self))
        try await store.prepareIndexes()
        let item = try #require(try store.read { try $0.find(RetypingWide.Item.self, "i2") })
        #expect(item.isDone == 1)
        #expect(item.count == 2)
        #expect(item.ratio == 0.5)
        #expect(item.link == "https://example.org")
        #expect(item.mood == "glad")
        #expect(item.ranks == [7])
        let query = Query<RetypingWide.Item>().where(#Predicate { $0.isDone >= 1 })
        #expect(try store.read { try $0.fetch(query).map(\.id) } == ["i2"])
        try await store.expectConsistent()
    }

    @Test func `anything else needs an upcaster, and all is in one error`() throws {
        let error = try #require(
            failure { _ = try folder.open(StoreSchema(RetypingOther.Item.self)) })
        #expect(error.code == .invalidSchema)
        #expect(error.message.contains("Item.count was int16 and is now string"))
        #expect(error.message.contains("Item.code was string and is now int64"))
        let store = try folder.open(StoreSchema(RetypingNarrow.Item.self))
        #expect(try store.read { try $0.count(RetypingNarrow.Item.self) } == 3)
    }

    private var upcasters: [StoreSchema.Upcaster] {
        [
            StoreSchema.Upcaster(\RetypingOther.Item.count) { value in
                if case .int64(let number) = value { .string("#\(number)") } else { nil }
            },
            StoreSchema.Upcaster(\RetypingOther.Item.code) { value in
                if case .string(let text) = value { Int64(text).map { .int64($0) } } else { nil }
            },
        ]
    }

    @Test func `an upcaster converts every record, and what was logged stays readable`()
        async throws
    {
        let store = try folder.open(StoreSchema(RetypingOther.Item.self, upcasters: upcasters))
        try await store.prepareIndexes()
        #expect(
            try store.read { try $0.fetch(RetypingOther.Item.self) }
                == (1...3).map {
                    RetypingOther.Item(id: .init("i\($0)"), count: "#\($0)", code: $0 * 10)
                })
        let query = Query<RetypingOther.Item>().where(#Predicate { $0.count == "#2" })
        #expect(try store.read { try $0.fetch(query).map(\.code) } == [20])
        let same = failure {
            try store.write { _ = try $0.save(RetypingOther.Item(id: "x", count: "", code: 20)) }
        }
        #expect(same?.code == .notUnique)
        try await store.expectConsistent()
        let head = try store.head
        store.close()
        let again = try folder.open(StoreSchema(RetypingOther.Item.self, upcasters: upcasters))
        #expect(try again.head == head)
    }

    @Test func `an upcaster that gives nothing where a value must be changes nothing`() throws {
        let bad = [
            StoreSchema.Upcaster(\RetypingOther.Item.count) { _ in .int64(1) }, upcasters[1],
        ]
        let error = try #require(
            failure { _ = try folder.open(StoreSchema(RetypingOther.Item.self, upcasters: bad)) })
        #expect(error.code == .invalidSchema)
        #expect(error.message.contains("Item.count gives no string for 3 records"))
        let store = try folder.open(StoreSchema(RetypingNarrow.Item.self))
        #expect(try store.head == 3)
    }

    @Test func `an upcaster of nothing is a mistake`() {
        let nothing = StoreSchema.Upcaster(entity: "Item", attribute: "size") { $0 }
        let error = failure {
            _ = try folder.open(StoreSchema(RetypingNarrow.Item.self, upcasters: [nothing]))
        }
        #expect(error?.message.contains("Item.size, which is no stored attribute") == true)
    }

    @Test func `a case that records have can't be removed`() throws {
        let error = try #require(
            failure { _ = try folder.open(StoreSchema(RetypingFewer.Item.self)) })
        #expect(error.message.contains("Item.mood holds raw values that its enum has no case for"))
        #expect(error.message.contains("i3"))
        let upcaster = StoreSchema.Upcaster(\RetypingFewer.Item.mood) { _ in .string("glad") }
        let store = try folder.open(StoreSchema(RetypingFewer.Item.self, upcasters: [upcaster]))
        #expect(
            try store.read { try $0.fetch(RetypingFewer.Item.self).map(\.mood) } == [
                .glad, .glad, .glad,
            ])
    }
}
