import Backstitch
import BackstitchCore
import BackstitchSync
import TestBudget
import Testing

@testable import BackstitchStore

enum UniquePlain {
    @Entity("Person") struct Person: Equatable {
        var id = ID()
        var email: String?
    }
}

enum UniqueStrict {
    @Entity("Person") struct Person: Equatable {
        var id = ID()
        @Attribute(.unique) var email: String?
    }
}

@Suite(.budgeted) struct UniqueTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> Store { try folder.open(StoreSchema(UniqueStrict.Person.self)) }

    private func save(_ store: Store, _ id: UniqueStrict.Person.ID, _ email: String?) throws {
        try store.write { _ = try $0.save(UniqueStrict.Person(id: id, email: email)) }
    }

    @Test func `a value that another record has is refused by name, without the value`()
        async throws
    {
        let store = try open()
        try save(store, "a", "x@example.org")
        let image = try store.image()
        let error = try #require(failure { try save(store, "b", "x@example.org") })
        #expect(error.code == .notUnique)
        #expect(error.message.contains("Person.email of b"))
        #expect(!error.message.contains("x@example.org"))
        #expect(try store.image() == image)
        try save(store, "b", "y@example.org")
        #expect(failure { try save(store, "b", "x@example.org") }?.code == .notUnique)
        try await store.expectConsistent()
    }

    @Test func `nil is no value, and a deleted record has none`() throws {
        let store = try open()
        try save(store, "a", nil)
        try save(store, "b", nil)
        try save(store, "a", "x")
        try store.write { _ = try $0.delete(UniqueStrict.Person.ID("a")) }
        try save(store, "b", "x")
    }

    @Test func `within one write values may be swapped`() throws {
        let store = try open()
        try save(store, "a", "1")
        try save(store, "b", "2")
        try store.write { transaction in
            try transaction.save(UniqueStrict.Person(id: "a", email: "2"))
            try transaction.save(UniqueStrict.Person(id: "b", email: "1"))
        }
        #expect(try store.read { try $0.find(UniqueStrict.Person.self, "a") }?.email == "2")
        let twice = failure {
            try store.write { transaction in
                try transaction.save(UniqueStrict.Person(id: "c", email: "3"))
                try transaction.save(UniqueStrict.Person(id: "d", email: "3"))
            }
        }
        #expect(twice?.code == .notUnique)
    }

    @Test func `a failed write takes no other with it`() async throws {
        let store = try open()
        try save(store, "a", "1")
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask {
                    let email = index % 2 == 0 ? "1" : "\(index + 1)"
                    _ = try? await store.write {
                        try $0.save(UniqueStrict.Person(id: .init("p\(index)"), email: email))
                    }
                }
            }
        }
        #expect(try store.read { try $0.count(UniqueStrict.Person.self) } == 11)
    }

    @Test func `long texts that differ at the end are different`() throws {
        let store = try open()
        let start = String(repeating: "x", count: 400)
        try save(store, "a", start + "1")
        try save(store, "b", start + "2")
        #expect(failure { try save(store, "c", start + "2") }?.code == .notUnique)
    }

    @Test func `a duplicate that arrives by sync becomes one with the record here`() async throws {
        let store = try open()
        try save(store, "a", "x")
        try await store.pull("Person", "b", ["email": .string("x")])
        // Until the pull has come to its end, there may be two.
        #expect(try store.read { try $0.count(UniqueStrict.Person.self) } == 2)
        let merge = { @Sendable (context: LogWriter) in
            try DuplicateMerger(RecordMerger(context, policy: .serverWins)).mergeNoted()
                .merged.map { "\($0.key) \($0.entityName)" }
        }
        #expect(try await store.withLogWriter(merge) == ["b Person"])
        #expect(try await store.withLogWriter(merge) == [])
        #expect(try store.read { try $0.count(UniqueStrict.Person.self) } == 1)
        #expect(failure { try save(store, "b", "x") }?.code == .notUnique)
        try save(store, "b", "y")
    }

    @Test func `an attribute that becomes unique reports all duplicates at once`() throws {
        let plain = try folder.open(StoreSchema(UniquePlain.Person.self))
        try plain.write { transaction in
            for (id, email) in [("a", "1"), ("b", "1"), ("c", "2"), ("d", "3"), ("e", "3")] {
                try transaction.save(UniquePlain.Person(id: .init(id), email: email))
            }
            for id in ["n", "o"] { try transaction.save(UniquePlain.Person(id: .init(id))) }
        }
        plain.close()
        let error = try #require(failure { _ = try open() })
        #expect(error.code == .invalidSchema)
        #expect(error.message.contains("these records share a value with another: a, b, d, e."))
        let again = try folder.open(StoreSchema(UniquePlain.Person.self))
        try again.write { transaction in
            for id in ["b", "e"] { _ = try transaction.delete(UniquePlain.Person.ID(id)) }
        }
        again.close()
        let store = try open()
        #expect(failure { try save(store, "z", "2") }?.code == .notUnique)
    }
}
