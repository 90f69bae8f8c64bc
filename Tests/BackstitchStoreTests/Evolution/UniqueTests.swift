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

enum UniqueIndexed {
    @Entity("Person") struct Person: Equatable {
        var id = ID()
        @Attribute(.indexed) var email: String?
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

    /// The id of a record of a zone beside the store's own.
    private func other(_ name: String) -> RecordKey { RecordKey(RecordName(name), zone: 2) }

    @Test func `a value may be there once in each zone`() async throws {
        let store = try open()
        try await store.addZone()
        let long = String(repeating: "x", count: 400)
        for email in ["1", long] {
            let name = "a\(email.count)"
            try save(store, .init(name), email)
            try save(store, .init(key: other(name)), email)
            #expect(failure { try save(store, "b", email) }?.code == .notUnique)
            let again = failure { try save(store, .init(key: other("b")), email) }
            #expect(again?.code == .notUnique)
        }
        #expect(try store.read { try $0.uniqueViolations() }.isEmpty)
        try await store.expectConsistent()
    }

    @Test func `records of one zone that share a value are listed together`() async throws {
        let plain = try folder.open(StoreSchema(UniquePlain.Person.self))
        try await plain.addZone()
        let keys = [RecordKey("a"), RecordKey("b"), other("a"), other("b")]
        let single = [RecordKey("c"), other("c")]
        try await plain.write { transaction in
            for key in keys {
                try transaction.save(UniquePlain.Person(id: .init(key: key), email: "1"))
            }
            for key in single {
                try transaction.save(UniquePlain.Person(id: .init(key: key), email: "2"))
            }
        }
        plain.close()
        let store = try open()
        let violations = try store.read { try $0.uniqueViolations() }
        let groups = violations["Person.email"]?.map { $0.map(\.key) }
        #expect(groups == [Array(keys[..<2]), Array(keys[2...])])
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

    @Test func `an index that is being built is whole once its attribute is unique`() throws {
        var configuration = StoreConfiguration.quick
        configuration.worksInBackground = false
        let plain = try folder.open(
            StoreSchema(UniquePlain.Person.self), configuration: configuration)
        try plain.write { _ = try $0.save(UniquePlain.Person(id: "a", email: "x")) }
        plain.close()
        let indexed = try folder.open(
            StoreSchema(UniqueIndexed.Person.self), configuration: configuration)
        #expect(try indexed.indexesBeingBuilt == ["Person.email"])
        indexed.close()
        let store = try open()
        #expect(try store.indexesBeingBuilt == [])
        #expect(failure { try save(store, "b", "x") }?.code == .notUnique)
    }

    @Test func `an attribute that becomes unique lists duplicates, and no more can be made`()
        async throws
    {
        let long = String(repeating: "x", count: 400)
        let plain = try folder.open(StoreSchema(UniquePlain.Person.self))
        try await plain.write { transaction in
            let emails = [
                ("a", "1"), ("b", "1"), ("c", "2"), ("d", "3"), ("e", "3"), ("p", long + "1"),
                ("q", long + "2"), ("r", long + "1"),
            ]
            for (id, email) in emails {
                try transaction.save(UniquePlain.Person(id: .init(id), email: email))
            }
            for id in ["n", "o"] { try transaction.save(UniquePlain.Person(id: .init(id))) }
        }
        plain.close()
        let store = try open()
        func named() throws -> [[String]]? {
            try store.read { try $0.uniqueViolations() }["Person.email"]?.map {
                $0.map(\.key.description)
            }
        }
        #expect(try named() == [["a", "b"], ["d", "e"], ["p", "r"]])
        let report = try store.verify()
        #expect(report.isConsistent && report.uniqueViolations.count == 3)
        #expect(
            report.uniqueViolations.first
                == "Person.email is unique, and these records share a value: a, b.")
        // Nothing is added to them, and they stay as they are.
        for email in ["1", "2", "3", long + "2"] {
            #expect(failure { try save(store, "z", email) }?.code == .notUnique)
        }
        #expect(try store.read { try $0.find(UniqueStrict.Person.ID("b")) }?.email == "1")
        try save(store, "a", "1")
        try save(store, "b", "4")
        #expect(failure { try save(store, "b", "1") }?.code == .notUnique)
        try await store.write { transaction in
            for id in ["e", "r"] { _ = try transaction.delete(UniqueStrict.Person.ID(id)) }
        }
        #expect(try store.read { try $0.uniqueViolations() }.isEmpty)
        #expect(try store.verify().uniqueViolations == [])
        try await store.expectConsistent()
    }
}
