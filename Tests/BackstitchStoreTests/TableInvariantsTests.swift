import Backstitch
import BackstitchCore
import LMDB
import TestBudget
import Testing

@testable import BackstitchLog
@testable import BackstitchStore

/// What holds between the tables, and that each way of breaking it is seen.
@Suite(.budgeted) struct TableInvariantsTests {
    @Test(arguments: 0..<10 as Range<UInt64>)
    func `the tables hold together after every step of a random history`(seed: UInt64) async throws
    {
        let history = try CompactionHistory(seed: seed)
        for _ in 0..<12 {
            try await history.run(1)
            let store = history.store
            #expect(try store.read { try TableInvariants($0.reader).violation() } == nil)
        }
        _ = try await history.store.compact(.keepUnsyncedOnly)
        let store = history.store
        #expect(try store.read { try TableInvariants($0.reader).violation() } == nil)
    }

    /// What is wrong with a store after a change of its tables.
    private func violation(
        _ change: @escaping @Sendable (LogWriter) throws -> Void
    ) async throws -> String? {
        let store = try Store.inMemory(schema: .all)
        try await store.write { transaction in
            try transaction.save(Department(id: "d", name: "d"))
            try transaction.save(Employee(id: "e", name: "e", email: "e", department: "d"))
            try transaction.save(Department(id: "p", name: "p"))
        }
        try await store.withLogWriter { log in
            let table = try #require(log.catalog.table(named: "Department"))
            try log.marks.park(table.number, RecordKey("p"), through: log.head, reason: "REFUSED")
        }
        #expect(try store.read { try TableInvariants($0.reader).violation() } == nil)
        try await store.withLogWriter { log in
            log.hasWrittenDirectly = true
            try change(log)
        }
        return try store.read { try TableInvariants($0.reader).violation() }
    }

    /// The first entry of a table.
    private static func first(_ table: UInt8, _ log: LogWriter) throws -> (key: [UInt8], [UInt8]) {
        var found: ([UInt8], [UInt8]) = ([], [])
        try [table].withUnsafeBytes { prefix in
            try log.reader.visit(prefix: prefix) { key, value in
                found = (Array(key), Array(value))
                return false
            }
        }
        try #require(!found.0.isEmpty)
        return found
    }

    @Test(arguments: [TableKey.indexes, TableKey.inverses, TableKey.parked])
    func `an entry that a row lacks is seen`(table: UInt8) async throws {
        let found = try await violation { log in
            let key = try Self.first(table, log).key
            try key.withUnsafeBytes { _ = try log.access.delete($0, in: log.databases.tables) }
        }
        #expect(found?.isEmpty == false)
    }

    @Test(
        arguments: [
            TableKey.indexes, TableKey.inverses, TableKey.parked, TableKey.unreadable,
        ])
    func `an entry of no row is seen`(table: UInt8) async throws {
        let found = try await violation { log in
            let row = try Self.first(TableKey.rows, log).key
            let name = RecordKey("nobody").bytes
            var key = [table] + row[1..<TableKey.rowPrefixByteCount]
            if table == TableKey.indexes || table == TableKey.inverses {
                key = Array(try Self.first(table, log).key.dropLast(1))
            }
            try (key + name).withUnsafeBytes { key in
                try [UInt8](repeating: 0, count: 8).withUnsafeBytes {
                    try log.access.put(key, $0, in: log.databases.tables)
                }
            }
        }
        #expect(found?.contains("entries") == true)
    }

    @Test func `a tally that is not of the tables is seen`() async throws {
        let found = try await violation { log in
            var counting = try OutboxCounter(log.reader).counting(at: log.head)
            counting.tally.conflicts += 1
            // The commit stores what it counted itself, unless an operation can't be counted.
            try log.withProjector { $0.counting = counting }
        }
        #expect(found?.contains("tally") == true)
    }
}

/// What holds in a mailbox, and that each way of breaking it is seen.
@Suite(.budgeted) struct MailboxContentsTests {
    private func changes(_ sequences: Range<UInt64>) -> ChangeSet {
        var changes = ChangeSet()
        changes.sequences = sequences
        return changes
    }

    @Test func `whatever comes and goes, a mailbox holds together`() {
        var random = SeededGenerator(seed: 7)
        var contents = MailboxContents()
        var next: UInt64 = 1
        for _ in 0..<2_000 {
            if UInt8.random(in: 0..<3, using: &random) > 0 {
                contents.add(changes(next..<next + 1))
                next += 1
            } else {
                _ = contents.takeFirst()
            }
            #expect(contents.violation == nil)
        }
        #expect(contents.pending.count <= ChangeSet.Stream.pendingMax)
    }

    @Test func `a mailbox that contradicts itself is seen`() {
        var contents = MailboxContents()
        contents.pending = [changes(5..<7), changes(6..<8)]
        #expect(contents.violation?.contains("before") == true)
        contents.pending = [changes(1..<2)]
        contents.hasReader = true
        #expect(contents.violation?.contains("beside") == true)
        contents = MailboxContents(pending: [], isClosed: true, hasReader: true)
        #expect(contents.violation?.contains("closed") == true)
        contents = MailboxContents(
            pending: (1...UInt64(ChangeSet.Stream.pendingMax + 1)).map { changes($0..<$0 + 1) })
        #expect(contents.violation?.contains("wait") == true)
    }
}
