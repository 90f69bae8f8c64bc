import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

enum Wrong {
    @Entity struct Größe {
        var id = ID()
        var a_b: String
    }
    @Entity("Twice") struct First {
        var id = ID()
        var text: String
    }
    @Entity("Twice") struct Second {
        var id = ID()
        var text: String
    }
    @Entity struct Dangling {
        var id = ID()
        var node: Node.ID?
    }
}

@Suite(.budgeted) struct OpeningTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [StoreConfiguration.Durability.full, .relaxed])
    func `what was written is there after reopening`(durability: StoreConfiguration.Durability)
        throws
    {
        let configuration = StoreConfiguration(durability: durability)
        let department = Department(id: "d", name: "One", budget: 3)
        for round in 0..<3 {
            let store = try folder.open(configuration: configuration)
            #expect(try store.head == UInt64(round))
            let changed = Department(id: "d", name: "One", budget: round)
            try store.write { try $0.save(changed) }
            #expect(try store.verify().problems == [])
            store.close()
        }
        let store = try folder.open(configuration: configuration)
        #expect(try store.read { try $0.find(Department.self, "d") }?.budget == 2)
        #expect(department.name == "One")
    }

    @Test func `an in-memory store starts empty and leaves nothing`() throws {
        let first = try Store.inMemory(schema: .all)
        try first.write { try $0.save(Node(id: "n")) }
        let second = try Store.inMemory(schema: .all)
        #expect(try second.head == 0)
        #expect(!FileManager.default.fileExists(atPath: first.directory.path))
    }

    @Test func `two stores on one path see each other's writes, catalog and changes`() async throws
    {
        let first = try folder.open()
        let second = try folder.open()
        var changes = first.changes().makeAsyncIterator()
        try await second.write { try $0.save(Node(id: "n")) }
        #expect(await changes.next()?.inserted(Node.self) == ["n"])
        #expect(try first.read { try $0.find(Node.self, "n") } != nil)
        // What the service delivers through one is numbered for both.
        for (store, name) in [(first, "A"), (second, "B"), (first, "C")] {
            let record = ServiceRecord(
                recordName: name, recordType: name, changeTag: "1", modifiedMilliseconds: 1,
                fields: [name: .int64(1)])
            try await store.withLogWriter { context in
                _ = try context.merge(record, policy: .serverWins)
            }
        }
        #expect(first.catalog == second.catalog)
        #expect(first.catalog.entities.suffix(3).map(\.name) == ["A", "B", "C"])
        first.close()
        try await second.write { try $0.save(Node(id: "m")) }
        #expect(await changes.next()?.isEmpty == false)
        try await second.expectConsistent()
        second.close()
        #expect(try folder.open().catalog.entities.suffix(3).map(\.name) == ["A", "B", "C"])
    }

    @Test func `another schema or other options on an open path are refused`() throws {
        let store = try folder.open()
        let otherSchema = failure { _ = try folder.open(StoreSchema(Node.self)) }
        #expect(otherSchema?.code == .openOtherwise)
        #expect(otherSchema?.message.contains(folder.store) == true)
        let full = StoreConfiguration(durability: .full)
        #expect(failure { _ = try folder.open(configuration: full) }?.code == .openOtherwise)
        try store.write { try $0.save(Node(id: "n")) }
        store.close()
        #expect(failure { _ = try folder.open(StoreSchema(Node.self)) } == nil)
    }

    @Test func `a store that is released can be opened again`() throws {
        for round in 0..<5 {
            let store = try folder.open()
            #expect(try store.head == UInt64(round))
            try store.write { try $0.save(Node(id: .init("n\(round)"))) }
        }
    }

    @Test func `all violations of a schema are in one error`() throws {
        let schema = StoreSchema(
            Wrong.Größe.self, Wrong.First.self, Wrong.Second.self, Wrong.Dangling.self)
        let author = String(repeating: "x", count: 256)
        let error = try #require(
            failure {
                _ = try folder.open(schema, configuration: StoreConfiguration(author: author))
            })
        #expect(error.code == .invalidSchema)
        let parts = [
            "Größe", "Twice is in the schema twice", "Dangling.node", "Node.self", "author",
        ]
        for part in parts {
            #expect(error.message.contains(part), "\(part)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.store))
    }

    @Test func `a schema without entities is refused`() throws {
        let error = try #require(failure { _ = try folder.open(StoreSchema()) })
        #expect(error.code == .invalidSchema)
        #expect(error.message.contains("no entities"))
        #expect(!FileManager.default.fileExists(atPath: folder.store))
    }
}
