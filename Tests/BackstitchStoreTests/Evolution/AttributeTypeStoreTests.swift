import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

enum TicketStatus: String, EnumAttributeValue { case open, closed, none }
enum TicketLevel: Int16, EnumAttributeValue { case low = 1, high = 9 }

struct TicketSettings: Codable, Equatable, Sendable {
    var theme = "light"
    var sizes: [String: Int] = [:]
}

@Entity("Ticket") struct TypedTicket: Equatable {
    var id = ID()
    @Attribute(.indexed) var status: TicketStatus = .none
    var level: TicketLevel?
    var tags: [String] = ["new"]
    var levels: [TicketLevel]?
    var days: [Date] = []
    var place: GeoLocation?
    @Attribute(.codable) var settings: TicketSettings = TicketSettings()
    @Attribute(.codable) var extras: [String: Int]?
    @Attribute(.transient) var isSelected = false
}

@Suite(.budgeted) struct AttributeTypeStoreTests {
    private let store: Store

    init() throws { store = try Store.inMemory(schema: StoreSchema(TypedTicket.self)) }

    private func titles(_ predicate: Predicate<TypedTicket>) throws -> [String] {
        try store.read { try $0.fetch(Query<TypedTicket>().where(predicate)).map(\.id.description) }
    }

    @Test func `all of them come back, but for what is transient`() async throws {
        var ticket = TypedTicket(
            id: "t", status: .open, level: .high, tags: ["a", "b"], levels: [.low], days: [],
            place: GeoLocation(latitude: 52.5, longitude: 13.4),
            settings: TicketSettings(theme: "dark", sizes: ["a": 1, "b": 2]), extras: ["x": 1],
            isSelected: true)
        let saved = ticket
        #expect(try await store.write { try $0.save(saved) } == .inserted)
        ticket.isSelected = false
        #expect(try store.read { try $0.find(TypedTicket.self, "t") } == ticket)
        #expect(try await store.write { try $0.save(saved) } == .unchanged)
        let values = try #require(try store.read { try $0.record("t", of: "Ticket") }?.values)
        #expect(values["isSelected"] == nil)
        #expect(values["level"] == .int64(9))
        #expect(values["tags"] == .list([.string("a"), .string("b")]))
        try await store.expectConsistent()
    }

    @Test func `queries compare enums, lists and their elements`() throws {
        try store.write { transaction in
            try transaction.save(
                TypedTicket(id: "a", status: .open, level: .low, tags: ["x", "y"]))
            try transaction.save(TypedTicket(id: "b", status: .closed, level: .high, tags: []))
            try transaction.save(TypedTicket(id: "c"))
        }
        let (open, none, high) = (TicketStatus.open, TicketStatus.none, TicketLevel.high)
        #expect(try titles(#Predicate { $0.status == open }) == ["a"])
        #expect(try titles(#Predicate { $0.status != open }) == ["b", "c"])
        #expect(try titles(#Predicate { $0.status == none }) == ["c"])
        #expect(try titles(#Predicate { $0.level == high }) == ["b"])
        #expect(try titles(#Predicate { $0.level == nil }) == ["c"])
        let some = [TicketStatus.open, .closed]
        #expect(try titles(#Predicate { some.contains($0.status) }) == ["a", "b"])
        #expect(try titles(#Predicate { $0.tags.contains("x") }) == ["a"])
        #expect(try titles(#Predicate { !$0.tags.contains("x") }) == ["b", "c"])
        #expect(try titles(#Predicate { $0.tags.contains("new") }) == ["c"])
        #expect(try titles(#Predicate { $0.tags.isEmpty }) == ["b"])
        #expect(try titles(#Predicate { $0.tags.count == 2 }) == ["a"])
        let tags = ["x", "y"]
        #expect(try titles(#Predicate { $0.tags == tags }) == ["a"])
        let query = Query<TypedTicket>().where(#Predicate { $0.status == open })
        #expect(try store.read { "\(try $0.explain(query))" }.contains("status"))
    }

    @Test func `what can't be asked of a list is an error`() throws {
        try store.write { try $0.save(TypedTicket(id: "a")) }
        #expect(
            failure { _ = try titles(#Predicate { $0.tags.contains($0.id.description) }) }?.code
                == .invalidQuery)
        #expect(
            failure { _ = try titles(#Predicate { $0.isSelected }) }?.code == .invalidQuery)
    }

    @Test func `values that can't be stored are refused by name`() throws {
        let place = TypedTicket(id: "a", place: GeoLocation(latitude: 100, longitude: 0))
        let error = try #require(failure { try store.write { _ = try $0.save(place) } })
        #expect(error.code == .invalidValue)
        #expect(error.message.contains("Ticket.place"))
        let days = TypedTicket(id: "a", days: [Date(timeIntervalSince1970: .nan)])
        #expect(
            failure { try store.write { _ = try $0.save(days) } }?.message.contains("Ticket.days")
                == true)
    }

    @Test func `a raw value of a newer client is kept and left out until a schema has it`()
        async throws
    {
        try await store.pull("Ticket", "new", ["status": .string("snoozed")])
        try await store.pull(
            "Ticket", "list", ["status": .string("open"), "levels": .list([.int64(2)])])
        try await store.pull("Ticket", "known", ["status": .string("open")])
        #expect(
            try store.read { try $0.fetch(TypedTicket.self).map(\.id.description) } == ["known"])
        #expect(try store.read { try $0.record("new", of: "Ticket") }?.state == .unreadable)
        #expect(
            try store.read { try $0.record("new", of: "Ticket") }?.values["status"]
                == .string("snoozed"))
        #expect(
            failure { _ = try store.read { try $0.find(TypedTicket.self, "new") } }?.code
                == .unreadable)
        #expect(try store.pushesByName() == [:])
        try await store.expectConsistent()
    }

    @Test func `bytes that a Codable type can't be made from are left out`() async throws {
        try await store.pull(
            "Ticket", "bad", ["settings": .bytes(Data("{\"theme\":1}".utf8))])
        try await store.pull(
            "Ticket", "good",
            ["settings": .bytes(Data("{\"theme\":\"x\",\"sizes\":{}}".utf8))])
        #expect(try store.read { try $0.fetch(TypedTicket.self).map(\.settings.theme) } == ["x"])
    }
}
