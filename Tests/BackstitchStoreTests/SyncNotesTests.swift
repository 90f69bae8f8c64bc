import BackstitchCore
import BackstitchLog
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct SyncNotesTests {
    private static let own = RecordKey("a")
    private static let other = RecordKey(RecordName("a"), zone: 2)

    /// The names of entries of `meta` that begin with what notes begin with, checksums included.
    private static func names(_ reader: TableReader) throws -> [String] {
        var names: [String] = []
        let prefixes = SyncNotes.allCases.flatMap { kind in
            [kind.rawValue + ".", kind.rawValue + ":"].flatMap { [$0, MetaChecksum.name(of: $0)] }
        }
        for prefix in prefixes {
            try reader.meta.visit(prefix) { name, _ in
                names.append(prefix + name)
                return true
            }
        }
        return names
    }

    @Test func `notes that are all taken away leave nothing, checksums included`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.withLogWriter { log in
            for kind in SyncNotes.allCases {
                try log.note(kind, RecordKey("a"), [1])
                try log.note(kind, RecordKey("b"), [2])
            }
        }
        // A full fetch marks thousands: marks have no checksum.
        #expect(try store.read { try Self.names($0.reader) }.count == 26)
        try await store.withLogWriter { log in
            #expect(try log.noted(.missed, RecordKey("a")) == [1])
            for kind in SyncNotes.allCases {
                try log.forgetNotes(kind, in: 0)
                #expect(try log.noted(kind, RecordKey("a")) == nil)
            }
        }
        #expect(try store.read { try Self.names($0.reader) }.isEmpty)
    }

    @Test func `a note of one kind is none of another, and goes alone`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.withLogWriter { log in
            try log.note(.missed, RecordKey("a"), [1])
            try log.note(.missed, RecordKey("b"), [2])
            #expect(try !log.mayHaveNotes(.unheard, in: 0))
            try log.forgetNote(.unheard, RecordKey("a"))
            try log.forgetNote(.missed, RecordKey("a"))
            #expect(try log.noted(.missed, RecordKey("a")) == nil)
            #expect(try log.noted(.missed, RecordKey("b")) == [2])
        }
        #expect(try store.read { try $0.reader.meta.hasNotes(.missed, in: 0) })
    }

    @Test func `records of two zones with one name have notes of their own`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.withLogWriter { log in
            for kind in SyncNotes.allCases {
                try log.note(kind, Self.own, [1])
                #expect(try log.noted(kind, Self.other) == nil)
                try log.note(kind, Self.other, [2])
                #expect(try log.noted(kind, Self.own) == [1])
            }
        }
        let keys = try store.read { transaction in
            var keys: [RecordKey] = []
            for slot: UInt8 in [0, 2] {
                try transaction.reader.meta.visitNotes(.missed, in: slot) { key, _ in
                    keys.append(key)
                    return true
                }
            }
            #expect(try transaction.reader.meta.countNotes(.missed) == 2)
            return keys
        }
        #expect(keys == [Self.own, Self.other])
        try await store.withLogWriter { log in
            for kind in SyncNotes.allCases {
                try log.forgetNotes(kind, in: 0)
                #expect(try log.noted(kind, Self.own) == nil)
                #expect(try log.noted(kind, Self.other) == [2])
                try log.forgetNote(kind, Self.other)
            }
        }
        #expect(try store.read { try Self.names($0.reader) }.isEmpty)
    }

    @Test func `marks of a full fetch need no checksum in any zone`() async throws {
        let store = try Store.inMemory(schema: .all)
        for slot: UInt8 in [0, 2, 254] {
            try await store.withLogWriter {
                try $0.note(.seen, RecordKey(RecordName("a"), zone: slot))
            }
        }
        #expect(try store.verify().problems.isEmpty)
        #expect(
            try store.read { try Self.names($0.reader) } == ["seen.a", "seen:02.a", "seen:fe.a"])
    }

    @Test func `a create that is acknowledged leaves the note of another zone's record`()
        async throws
    {
        let store = try Store.inMemory(schema: .all)
        try await store.addZone()
        let id = Employee.ID(key: Self.other)
        try await store.write { _ = try $0.save(Employee(id: id, name: "Ada", email: "ada@x")) }
        try await store.withLogWriter { log in
            for key in [Self.own, Self.other] { try log.note(.sent, key) }
            let table = try #require(log.catalog.table(named: "Employee"))
            try log.marks.acknowledge(
                table.number, Self.other, through: log.head,
                version: ServerVersion(changeTag: "1", modifiedMilliseconds: 1))
            #expect(try log.noted(.sent, Self.other) == nil)
            #expect(try log.noted(.sent, Self.own) != nil)
        }
    }
}
