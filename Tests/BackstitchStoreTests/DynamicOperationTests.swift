import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

@Suite(.budgeted) struct DynamicOperationTests {
    let fixture: DynamicFixture

    init() throws { fixture = try DynamicFixture() }

    /// Three authors; Ada is renamed, and Bob is deleted.
    private func fill() throws {
        try fixture.write { transaction in
            try transaction.save(DynamicAuthor(id: .named("ada"), name: "Ada", born: 1815))
            try transaction.save(DynamicAuthor(id: .named("bob"), name: "Bob"))
            try transaction.save(DynamicBook(id: .named("notes"), title: "Notes"))
        }
        try fixture.write { transaction in
            try transaction.save(DynamicAuthor(id: .named("ada"), name: "Ada L.", born: nil))
            try transaction.delete(DynamicAuthor.ID.named("bob"))
        }
    }

    @Test func `operations carry what changed with names and both values`() throws {
        try fill()
        let store = try fixture.dynamic()
        defer { store.close() }
        let operations = try store.operations(limit: 100)
        #expect(operations.map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(operations.map(\.kind) == [.insert, .insert, .insert, .update, .delete])
        #expect(operations.map(\.transaction) == [1, 1, 1, 4, 4])
        #expect(operations.map(\.previous) == [0, 0, 0, 1, 2])
        let update = operations[3]
        #expect(update.record == RecordID(entity: "Author", name: "ada"))
        #expect(update.author == "test")
        #expect(update.origin == .local)
        #expect(abs(update.date.timeIntervalSince1970 - 1_700_000_000.123) < 0.001)
        #expect(
            update.changes == [
                .init(attribute: "name", before: .string("Ada"), after: .string("Ada L.")),
                .init(attribute: "born", before: .int64(1815), after: nil),
            ])
        #expect(
            operations[4].changes == [.init(attribute: "name", before: .string("Bob"), after: nil)])
    }

    @Test func `operations are read by place, count, entity and record`() throws {
        try fill()
        let store = try fixture.dynamic()
        defer { store.close() }
        let ada = LoggedOperation.Filter(record: RecordID(entity: "Author", name: "ada"))
        func sequences(
            _ first: UInt64, _ limit: Int, _ filter: LoggedOperation.Filter
        ) throws -> [UInt64] {
            try store.operations(from: first, limit: limit, matching: filter).map(\.sequence)
        }
        #expect(try sequences(2, 2, .init()) == [2, 3])
        #expect(try sequences(6, 2, .init()) == [])
        #expect(try sequences(1, 9, ada) == [1, 4])
        #expect(try sequences(2, 9, ada) == [4])
        #expect(try sequences(1, 9, .init(entity: "Book")) == [3])
        #expect(try store.read { try $0.lastOperations(limit: 2).map(\.sequence) } == [4, 5])
        let long = RecordID(entity: "Author", name: String(repeating: "x", count: 300))
        for wrong in [
            LoggedOperation.Filter(entity: "Nothing"), LoggedOperation.Filter(record: long),
        ] {
            #expect(throws: StoreError.self) { try sequences(1, 9, wrong) }
        }
    }

    @Test func `the history of a record goes back from its last operation`() throws {
        try fill()
        let store = try fixture.dynamic()
        defer { store.close() }
        let ada = RecordKey(.text("ada"))
        #expect(
            try store.operations(of: RecordID(entity: "Author", key: ada)).map(\.sequence) == [
                4, 1,
            ])
        #expect(
            try store.operations(of: RecordID(entity: "Author", key: ada), limit: 1).map(\.sequence)
                == [4])
        #expect(
            try store.operations(of: RecordID(entity: "Author", key: RecordKey(.text("zoe")))) == []
        )
    }

    @Test func `the history of a record that is gone is found in the log`() async throws {
        try fill()
        let typed = try fixture.typed()
        try await typed.withLogWriter { context in
            try context.marks.acknowledge(
                EntityNumber(1), RecordKey(.text("bob")), through: 5, version: nil)
        }
        typed.close()
        let store = try fixture.dynamic()
        defer { store.close() }
        let bob = RecordKey(.text("bob"))
        try store.read { transaction in
            let record = try transaction.record(
                RecordID(entity: "Author", key: bob), includesDeleted: true)
            #expect(record == nil)
        }
        #expect(
            try store.operations(of: RecordID(entity: "Author", key: bob)).map(\.sequence) == [
                5, 2,
            ])
        #expect(try store.operations(from: 6, limit: 1).first?.acknowledgedThrough == 5)
    }

    @Test func `operations in front of a damaged one are read, and then it is named`() throws {
        try fill()
        let store = try fixture.dynamic(.readWrite)
        defer { store.close() }
        try store.environment.writer.submitAndWait {
            try store.environment.write { transaction in
                try TableKey.withSequence(3) { key in
                    let access = transaction.access
                    let stored = try access.get(key, in: store.databases.log)
                    var bytes = Array(try #require(stored))
                    bytes[bytes.count / 2] ^= 1
                    try bytes.withUnsafeBytes { try access.put(key, $0, in: store.databases.log) }
                }
            }
        }
        #expect(try store.operations(limit: 9).map(\.sequence) == [1, 2])
        let error = #expect(throws: StoreError.self) { try store.operations(from: 3, limit: 9) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("Operation 3 ") == true)
        #expect(try store.read { try $0.lastOperations(limit: 9).map(\.sequence) } == [4, 5])
    }

    @Test func `conflicts are listed newest first with all sides`() async throws {
        let typed = try fixture.typed()
        for name in ["ada", "bob"] {
            try await typed.write { transaction in
                _ = try transaction.save(DynamicAuthor(id: .named(name), name: "local"))
            }
            try await typed.withLogWriter { context in
                _ = try context.merge(
                    ServiceRecord(
                        recordName: name, recordType: "Author", changeTag: "t",
                        modifiedMilliseconds: 1, fields: ["name": .string("server")]),
                    policy: .serverWins)
            }
        }
        typed.close()
        let store = try fixture.dynamic()
        defer { store.close() }
        let conflicts = try store.read { try $0.conflicts(limit: 9) }
        #expect(conflicts.map(\.record.name) == ["bob", "ada"])
        let last = try #require(conflicts.first)
        #expect(last.record.entity == "Author")
        #expect(last.policy == .serverWins)
        #expect(last.base == nil)
        #expect(last.local == ["name": .string("local")])
        #expect(last.server == ["name": .string("server")])
        #expect(last.outcome == ["name": .string("server")])
        #expect(try store.read { try $0.conflicts(limit: 1) }.count == 1)
        let operation = try store.operations(from: last.sequence, limit: 1).first
        #expect(operation?.conflict == last)
    }
}
