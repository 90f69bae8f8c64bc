import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct HistoryTests {
    let store: Store
    let clock = ManualClock()

    init() throws {
        let clock = clock
        store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(clock: clock))
    }

    private func save(_ name: String, budget: Int? = nil) async throws {
        clock.set(clock.milliseconds + 1_000)
        try await store.write(author: "ada", context: "to \(name)") {
            try $0.save(Department(id: "d", name: name, budget: budget))
        }
    }

    @Test func `a record's history tells every step, newest first`() async throws {
        try await save("one")
        try await save("two", budget: 5)
        try await store.write { _ = try $0.delete(Department.ID("d")) }
        try await save("again")
        let history = try store.history(of: Department.ID("d"))
        #expect(history.map(\.kind) == [.insert, .delete, .update, .insert])
        #expect(history.map(\.sequence) == [4, 3, 2, 1])
        #expect(history.map(\.transaction) == [4, 3, 2, 1])
        #expect(history.map(\.author) == ["ada", "", "ada", "ada"])
        #expect(history.map(\.context) == ["to again", "", "to two", "to one"])
        #expect(history.map(\.origin) == [.local, .local, .local, .local])
        #expect(history[2].date == Date(timeIntervalSince1970: 1_700_000_002))
        #expect(
            history[2].changes == [
                .init(attribute: "name", before: .string("one"), after: .string("two")),
                .init(attribute: "budget", before: nil, after: .int64(5)),
            ])
        #expect(
            try history.map { try $0.model(Department.self) } == [
                Department(id: "d", name: "again"), nil,
                Department(id: "d", name: "two", budget: 5), Department(id: "d", name: "one"),
            ])
        #expect(history[2].values == ["name": .string("two"), "budget": .int64(5)])
        #expect(history[1].values == nil)
        #expect(try store.history(of: Department.ID("d"), limit: 2).map(\.sequence) == [4, 3])
        #expect(history.allSatisfy { !$0.isBaseline })
    }

    @Test func `a record that is gone has a history, and one that never was has none`() async throws
    {
        try await save("one")
        try await store.withLogWriter { context in
            try context.marks.acknowledge(
                EntityNumber(1), Department.ID("d").key, through: 1,
                version: ServerVersion(changeTag: "t", modifiedMilliseconds: 1))
        }
        try await store.write { _ = try $0.delete(Department.ID("d")) }
        try await store.withLogWriter { context in
            try context.marks.acknowledge(
                EntityNumber(1), Department.ID("d").key, through: 3, version: nil)
        }
        let history = try store.history(of: Department.ID("d"))
        #expect(history.map(\.kind) == [.delete, .insert])
        #expect(try history.map { try $0.model(Department.self)?.name } == [nil, "one"])
        #expect(try store.history(of: Department.ID("x")).isEmpty)
    }

    @Test func `a compacted history ends with a baseline`() async throws {
        try await save("one")
        try await save("two")
        try await store.withLogWriter { context in
            try context.marks.acknowledge(
                EntityNumber(1), Department.ID("d").key, through: 2,
                version: ServerVersion(changeTag: "t", modifiedMilliseconds: 1))
            try context.marks.setOutboxFloor(context.head)
        }
        try await save("three")
        try await store.compact(.keepUnsyncedOnly)
        let history = try store.history(of: Department.ID("d"))
        #expect(history.map(\.isBaseline) == [false, true])
        #expect(try history.map { try $0.model(Department.self)?.name } == ["three", "two"])
        #expect(history.map(\.context) == ["to three", "to two"])
    }

    @Test func `a history can't be read as another type or of an unknown entity`() async throws {
        try await save("one")
        let entry = try #require(try store.history(of: Department.ID("d")).first)
        #expect(failure { _ = try entry.model(Employee.self) }?.code == .unknownEntity)
        #expect(
            failure {
                _ = try store.history(of: RecordID(entity: "No", key: RecordKey(RecordName("d"))))
            }?.code
                == .unknownEntity)
        #expect(
            failure {
                _ = try store.history(
                    of: RecordID(
                        entity: "Department", name: String(repeating: "x", count: 300)))
            }?.code == .invalidName)
    }

    @Test func `a damaged operation in a history is an error`() async throws {
        try await save("one")
        try await save("two")
        try store.environment.tamper { access, databases in
            try withUnsafeBytes(of: UInt64(1).bigEndian) { key in
                var bytes = Array(try #require(try access.get(key, in: databases.log)))
                bytes[bytes.count / 2] ^= 1
                try bytes.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
        #expect(failure { _ = try store.history(of: Department.ID("d")) }?.code == .damaged)
        #expect(failure { _ = try store.read(at: 1) { try $0.lastSequence } }?.code == .damaged)
        await #expect(throws: StoreError.self) { try await store.undo(transaction: 1) }
    }
}
