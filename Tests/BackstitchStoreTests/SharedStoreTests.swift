import Backstitch
import BackstitchCore
import Dispatch
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

/// Several handles of one store, and several threads.
@Suite(.budgeted) struct SharedStoreTests {
    @Entity("Shared") struct Shared {
        var id = ID()
        var name: String
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/shared-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    /// Two handles of a store each had their own catalog, and gave the same number to the names
    /// that they met first; the fields of one then had the names of the other.
    @Test func `two handles never give one number to two names`() async throws {
        try await withFolder { path in
            let first = try Store(at: path, schema: StoreSchema(Shared.self))
            let second = try Store(at: path, schema: StoreSchema(Shared.self))
            for (store, field) in [(first, "one"), (second, "two"), (first, "three")] {
                try await store.withLogWriter { context in
                    _ = try context.merge(
                        ServiceRecord(
                            recordName: field, recordType: "Shared", changeTag: "t",
                            modifiedMilliseconds: 1,
                            fields: ["name": .string("x"), field: .string(field)]),
                        policy: .serverWins)
                }
            }
            first.close()
            second.close()
            let store = try Store(at: path, schema: StoreSchema(Shared.self))
            defer { store.close() }
            #expect(
                store.catalog.entities.first?.attributes.map(\.name) == [
                    "name", "one", "two", "three",
                ])
            #expect(try store.verify().isConsistent)
        }
    }

    /// The queue held the closure of a blocking write a moment longer than the caller, which
    /// stopped the process.
    @Test func `blocking writes of many threads return when they are done`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Shared.self))
        defer { store.close() }
        let count = 2_000
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<count / 4 {
                do {
                    try store.write { transaction in
                        _ = try transaction.save(Shared(name: "\(thread) \(number)"))
                    }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(try store.read { try $0.lastSequence } == UInt64(count))
    }

    /// Only what this process wrote used to be observed.
    @Test func `what another process writes is observed, in the order of the log`() async throws {
        try await withFolder { path in
            let store = try Store(at: path, schema: StoreSchema(Shared.self))
            defer { store.close() }
            var changes = store.changes().makeAsyncIterator()
            var names = store.observe(Query<Shared>().sorted(by: \.name)).makeAsyncIterator()
            #expect(try await names.next()?.isEmpty == true)
            try await store.write { try $0.save(Shared(id: "own 1", name: "1")) }
            await #expect(processExitsWith: .success) { [path = path as String] in
                let store = try Store(at: path, schema: StoreSchema(SharedStoreTests.Shared.self))
                for number in 2...4 {
                    try await store.write(author: "other") {
                        try $0.save(Shared(id: .init("other \(number)"), name: "\(number)"))
                    }
                }
            }
            var rows = try await names.next()?.map(\.name) ?? []
            while rows.count < 4 { rows = try await names.next()?.map(\.name) ?? ["closed"] }
            #expect(rows == ["1", "2", "3", "4"])
            try await store.write { try $0.save(Shared(id: "own 5", name: "5")) }
            for number in 1...5 {
                let change = try #require(await changes.next())
                #expect(change.sequences == UInt64(number)..<UInt64(number + 1))
                let isOwn = [1, 5].contains(number)
                #expect(change.author == (isOwn ? "" : "other"))
                let name = isOwn ? "own \(number)" : "other \(number)"
                #expect(change.inserted(Shared.self) == [.init(name)])
            }
        }
    }

    /// Reads used the catalog of the process's own last write.
    @Test func `names that another process adds are known to a store that is open`() async throws {
        try await withFolder { path in
            let store = try Store(at: path, schema: StoreSchema(Shared.self))
            defer { store.close() }
            await #expect(processExitsWith: .success) { [path = path as String] in
                let store = try Store(at: path, schema: StoreSchema(SharedStoreTests.Shared.self))
                try await store.withLogWriter { context in
                    _ = try context.merge(
                        ServiceRecord(
                            recordName: "r", recordType: "Shared", changeTag: "t",
                            modifiedMilliseconds: 1,
                            fields: ["name": .string("x"), "added": .string("y")]),
                        policy: .serverWins)
                }
            }
            let record = try store.read { try $0.record("r", of: "Shared") }
            #expect(record?.values["added"] == .string("y"))
        }
    }

    @Test func `a store whose folder is renamed takes no write, and is whole at its new place`()
        throws
    {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try store.write { _ = try $0.save(Department(id: "d", name: "One")) }
        let moved = folder.root + "/moved"
        try FileManager.default.moveItem(atPath: folder.store, toPath: moved)
        let error = failure { try store.write { _ = try $0.save(Department(id: "e", name: "x")) } }
        #expect(error != nil)
        #expect(!FileManager.default.fileExists(atPath: folder.store))
        store.close()
        let opened = try Store(at: moved, schema: .all, configuration: .quick)
        #expect(try opened.read { try $0.fetch(Department.self) }.map(\.id) == ["d"])
        opened.close()
    }
}
