import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct DynamicRecordTests {
    let fixture: DynamicFixture

    init() throws { fixture = try DynamicFixture() }

    @Test func `a store opens without its types and shows records by name`() throws {
        try fixture.write { transaction in
            try transaction.save(DynamicAuthor(id: .named("ada"), name: "Ada", born: 1815))
            try transaction.save(
                DynamicBook(id: .named("notes"), title: "Notes", author: .named("ada")))
        }
        let store = try fixture.dynamic()
        defer { store.close() }
        try store.read { transaction in
            let book = try #require(try transaction.record("notes", of: "Book"))
            #expect(book.id.entity == "Book")
            #expect(book.id.name == "notes")
            #expect(
                book.values == [
                    "title": .string("Notes"), "author": .reference(RecordKey(.text("ada"))),
                ])
            #expect(book.state == .dirty)
            #expect(book.lastSequence == 2)
            #expect(book.syncedSequence == 0)
            #expect(!book.hasChangeTag)
            #expect(try transaction.record("nobody", of: "Book") == nil)
            #expect(try transaction.count(of: "Author") == 1)
        }
        #expect(store.catalog.entities.map(\.isDeclared) == [true, true])
    }

    @Test func `an unknown entity is refused with those that there are`() throws {
        try fixture.write { _ in }
        let store = try fixture.dynamic()
        defer { store.close() }
        let error = #expect(throws: StoreError.self) {
            try store.read { try $0.count(of: "Writer") }
        }
        #expect(error?.code == .unknownEntity)
        #expect(error?.message.contains("Author, Book") == true)
    }

    @Test func `records stream in key order, from a key on, up to a limit`() throws {
        try fixture.write { transaction in
            for number in 0..<10 {
                try transaction.save(DynamicAuthor(id: .named("a\(number)"), name: "\(number)"))
            }
            try transaction.delete(DynamicAuthor.ID.named("a4"))
        }
        let store = try fixture.dynamic()
        defer { store.close() }
        try store.read { transaction in
            let names = try transaction.records(
                of: "Author", from: RecordKey(.text("a3")), limit: 3
            ).map(\.id.name)
            #expect(names == ["a3", "a5", "a6"])
            #expect(try transaction.records(of: "Author", limit: 0) == [])
            var visited = 0
            try transaction.forEachRecord(of: "Author") { _ in
                visited += 1
                return visited < 4
            }
            #expect(visited == 4)
            #expect(try transaction.count(of: "Author") == 9)
        }
    }

    @Test func `the state tells what stands between a record and the service`() async throws {
        let typed = try fixture.typed()
        try await typed.write { transaction in
            try transaction.save(DynamicAuthor(id: .named("parked"), name: "P"))
            try transaction.save(DynamicAuthor(id: .named("synced"), name: "S"))
            try transaction.save(DynamicAuthor(id: .named("gone"), name: "G"))
            try transaction.delete(DynamicAuthor.ID.named("gone"))
        }
        try await typed.withLogWriter { context in
            let author = EntityNumber(1)
            try context.marks.park(
                author, RecordKey(.text("parked")), through: 1, reason: "too large")
            try context.marks.acknowledge(
                author, RecordKey(.text("synced")), through: 2,
                version: ServerVersion(changeTag: "t", modifiedMilliseconds: 1))
            _ = try context.merge(
                ServiceRecord(
                    recordName: "odd", recordType: "Author", changeTag: "t",
                    modifiedMilliseconds: 1, fields: ["name": .int64(7), "extra": .string("x")]),
                policy: .serverWins)
        }
        typed.close()
        let store = try fixture.dynamic()
        defer { store.close() }
        try store.read { transaction in
            let states = try transaction.records(of: "Author", limit: 9, includesDeleted: true)
                .map { [$0.id.name, $0.state.rawValue, "\($0.hasChangeTag)"] }
            #expect(
                states.sorted { $0[0] < $1[0] } == [
                    ["gone", "deleted", "false"], ["odd", "unreadable", "true"],
                    ["parked", "parked", "false"], ["synced", "synced", "true"],
                ])
            let odd = try transaction.record("odd", of: "Author")
            #expect(odd?.values == ["name": .int64(7), "extra": .string("x")])
            #expect(try transaction.record("gone", of: "Author") == nil)
            let gone = try transaction.record("gone", of: "Author", includesDeleted: true)
            #expect(gone?.values == [:])
        }
    }
}
