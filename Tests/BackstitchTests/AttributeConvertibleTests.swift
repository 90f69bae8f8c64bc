import Backstitch
import Foundation
import TestBudget
import Testing

private struct Email: AttributeConvertible, Hashable, Codable, Comparable {
    let stored: String

    init?(stored: String) {
        guard stored.contains("@") else { return nil }
        self.stored = stored
    }

    static func < (left: Email, right: Email) -> Bool { left.stored < right.stored }
}

/// A grade that is stored as a number, so that it sorts by rank and not by name.
private enum Grade: String, AttributeConvertible, Codable {
    case low, high

    var stored: Int { self == .low ? 1 : 2 }

    init?(stored: Int) {
        switch stored {
        case 1: self = .low
        case 2: self = .high
        default: return nil
        }
    }
}

@Entity("Member") private struct Member: Equatable {
    var id = ID()
    @Attribute(.unique) var email: Email
    @Attribute(.indexed) var grade: Grade = .low
    var other: Email?
    var copies: [Email] = []
}

@Entity("Member") private struct PlainMember {
    var id = ID()
    @Attribute(.unique) var email: String
    @Attribute(.indexed) var grade: Int = 1
    var other: String?
    var copies: [String] = []
}

@Suite(.budgeted) struct AttributeConvertibleTests {
    private func email(_ text: String) throws -> Email { try #require(Email(stored: text)) }

    @Test func `a type of the app's own is stored as another type`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Member.self))
        let ada = Member(
            email: try email("ada@x"), grade: .high, other: nil,
            copies: [try email("b@x"), try email("a@x")])
        try await store.save(ada)
        #expect(try store.read { try $0.find(ada.id) } == ada)
        let dynamic = try store.read { try $0.record(ada.id.recordID) }
        #expect(dynamic?.values["email"] == "ada@x" && dynamic?.values["grade"] == 2)
        #expect(
            Member.entitySchema.attributes.map(\.type) == [.string, .int64, .string, .stringList])
    }

    @Test func `conditions and orders go by the stored values`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Member.self))
        try await store.save(Member(email: try email("c@x"), grade: .low))
        try await store.save(Member(email: try email("a@x"), grade: .high))
        try await store.save(Member(email: try email("b@x"), grade: .low))
        let (wanted, low, bound) = (try email("b@x"), Grade.low, try email("b@x"))
        let found = try store.read { tx in
            (
                try tx.fetch(Query<Member>().where(#Predicate { $0.email == wanted })),
                try tx.fetch(Query<Member>().where(#Predicate { $0.grade == low })).count,
                try tx.fetch(Query<Member>().where(#Predicate { $0.email >= bound })).count,
                try tx.fetch(Query<Member>().sorted(by: \.email)).map(\.email.stored)
            )
        }
        #expect(found.0.map(\.email) == [wanted])
        #expect(found.1 == 2 && found.2 == 2)
        #expect(found.3 == ["a@x", "b@x", "c@x"])
    }

    @Test func `a stored value that the type refuses leaves the record out`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("convertible-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let plain = try Store(at: folder, schema: StoreSchema(PlainMember.self))
        try await plain.save(PlainMember(id: "good", email: "a@x"))
        try await plain.save(PlainMember(id: "bad", email: "nothing"))
        try await plain.save(PlainMember(id: "odd", email: "o@x", grade: 7))
        plain.close()
        let store = try Store(at: folder, schema: StoreSchema(Member.self))
        defer { store.close() }
        #expect(try store.read { try $0.fetch(Member.self) }.map(\.id) == ["good"])
        #expect(
            try store.read { try $0.record(Member.ID("bad").recordID) }?.values["email"]
                == "nothing")
    }
}
