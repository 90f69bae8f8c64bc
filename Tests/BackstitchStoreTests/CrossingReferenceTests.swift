import Backstitch
import BackstitchCore
import BackstitchLog
import TestBudget
import Testing

@testable import BackstitchStore

@Entity private struct Shelf: Equatable {
    var id = ID()
    var title: String
}

@Entity private struct Book: Equatable {
    var id = ID()
    var title: String
    @Relationship(onDelete: .nullify) var shelf: Shelf.ID?
    @Attribute(.localOnly) var opened: Shelf.ID?
}

/// A service takes references within a zone alone.
@Suite(.budgeted) struct CrossingReferenceTests {
    private let store: Store

    init() throws { store = try Store.inMemory(schema: StoreSchema(Shelf.self, Book.self)) }

    private func addZone() async throws {
        let slot = try await store.withLogWriter { log in
            log.catalogChanges.addZone(named: "groceries", in: .private)
        }
        #expect(slot == 2)
    }

    private func save(_ book: Book, isLocalOnly: Bool = false) throws {
        try store.write(isLocalOnly: isLocalOnly) { _ = try $0.save(book) }
    }

    private func book(_ id: Book.ID) throws -> Book? {
        try store.read { try $0.find(Book.self, id) }
    }

    /// Stores a book with a reference to another zone, as another client may have saved it.
    private func pull(_ name: String) throws {
        try store.write { transaction in
            let log = transaction.log
            let table = try #require(log.catalog.table(named: "Book"))
            log.fields.writer.reset()
            let values: [String: RecordValue] = [
                "title": .string("one"), "shelf": .reference(Shelf.ID.elsewhere("s").key),
            ]
            for (name, value) in values {
                let field = try #require(table.attribute(named: name)?.field)
                try log.fields.writer.write(value, of: field)
            }
            log.fields.pack()
            try log.insertBody(
                origin: .remote, entity: table.number, key: RecordKey(name), previous: 0,
                stamp: SyncStamp(changeTag: "1", modifiedMilliseconds: 1, acknowledgedThrough: 0))
        }
    }

    @Test
    func `a reference to a record of another zone is refused, and the message says the remedy`()
        async throws
    {
        try await addZone()
        let refusal = failure { try save(Book(id: "b", title: "one", shelf: .elsewhere("s"))) }
        #expect(refusal?.code == .crossesZones)
        #expect(
            refusal?.message == "Book.shelf refers to the record s of the zone groceries, and the "
                + "service takes references within a zone alone. Save both records in one zone, or "
                + "declare the attribute with .localOnly.")
        let other = failure { try save(Book(id: .elsewhere("b"), title: "one", shelf: "s")) }
        #expect(other?.code == .crossesZones)
        #expect(other?.message.contains("of the store's own zone") == true)
        let staying = failure {
            try save(Book(id: "b", title: "one", shelf: .elsewhere("s")), isLocalOnly: true)
        }
        #expect(staying?.code == .crossesZones, "it is pushed if the service loses the record")
        #expect(try store.head == 0)
    }

    @Test func `a reference within a zone is saved, and one that stays on the device to any zone`()
        async throws
    {
        try await addZone()
        let books = [
            Book(id: "b", title: "one", shelf: "s", opened: .elsewhere("s")),
            Book(id: .elsewhere("b"), title: "one", shelf: .elsewhere("s"), opened: "s"),
        ]
        for book in books {
            try save(book)
            #expect(try self.book(book.id) == book)
        }
        try await store.expectConsistent()
    }

    @Test func `an update is refused for the references that it changes`() throws {
        try save(Book(id: "b", title: "one", shelf: "s"))
        let moved = failure { try save(Book(id: "b", title: "one", shelf: .elsewhere("s"))) }
        #expect(moved?.code == .crossesZones)
        #expect(try book("b")?.shelf == "s")
        try pull("c")
        try save(Book(id: "c", title: "two", shelf: .elsewhere("s")))
        #expect(try book("c")?.title == "two")
    }

    @Test func `a save by name is refused as well, in a list too`() throws {
        let target = RecordValue.reference(Shelf.ID.elsewhere("s").key)
        for values in [
            ["title": .string("one"), "shelf": target],
            ["title": .string("one"), "more": .list([target])],
        ] {
            let refusal = failure {
                try store.write {
                    _ = try $0.save(values, as: RecordKey("b"), of: "Book", addsAttributes: true)
                }
            }
            #expect(refusal?.code == .crossesZones)
        }
        #expect(try store.head == 0)
    }

    @Test func `a write goes on after a refusal, and what it saves counts`() throws {
        try store.write { transaction in
            do {
                try transaction.save(Book(id: "b", title: "one", shelf: .elsewhere("s")))
                Issue.record("It was saved.")
            } catch let error as StoreError {
                #expect(error.code == .crossesZones)
            }
            try transaction.save(Book(id: "c", title: "two", shelf: "s"))
        }
        #expect(try book("b") == nil)
        #expect(try book("c")?.title == "two")
    }

    @Test func `an undo that would save such a reference again is refused`() async throws {
        try pull("b")
        try save(Book(id: "b", title: "one", shelf: "s"))
        let edit = try store.head
        let refusal = await #expect(throws: StoreError.self) {
            try await store.undo(transaction: edit)
        }
        #expect(refusal?.code == .crossesZones)
        #expect(try book("b")?.shelf == "s")
    }
}
