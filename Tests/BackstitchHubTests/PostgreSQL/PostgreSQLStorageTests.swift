import BackstitchHub
import Foundation
import PostgreSQLCluster
import TestBudget
import Testing
import Threading
import Waiting

@testable import BackstitchHubCore
@testable import BackstitchHubPostgreSQL

/// What a storage in a database does beside what all do.
@Suite(
    "A storage in PostgreSQL", .budgeted,
    .enabled(if: PostgreSQLCluster.isInstalled, "PostgreSQL is missing: Tests/prepare.sh --all"))
struct PostgreSQLStorageTests {
    private struct Refused: Error {}

    private static let partition = Partition(number: 1)

    private static func key(_ number: UInt32, in partition: Partition = partition) -> HubKey {
        HubKey(partition, .record).adding(number)
    }

    private static func rows(_ sql: String, _ connection: Connection) throws -> [[String]] {
        let rows = try connection.roundTrip([BoundStatement(Statement(sql, sql: sql))])[0]
        return (0..<rows.count).map { [rows.text($0, 0)] }
    }

    // MARK: Plans

    /// A statement is planned by the statistics of one moment, and the plan is kept while partitions grow:
    /// of a small one the planner finds that it is as soon read as its keys are looked up.
    @Test(arguments: [nil, 1, 4, 100, 2_000])
    func `no statement sorts or reads more than it is asked for, whatever the statistics are of`(
        entries: Int?
    ) throws {
        let schema = try TemporarySchema()
        let connection = try schema.connection()
        let fill = """
            INSERT INTO backstitch_entries (p, k, v)
            SELECT p, int4send(n), int4send(n)
            FROM generate_series(1, 20) p, generate_series(1, \(entries ?? 2_000)) n
            """
        _ = try connection.roundTrip([BoundStatement(Statement("fill", sql: fill))])
        if entries != nil {
            let analyze = "ANALYZE backstitch_entries, backstitch_partitions"
            _ = try connection.roundTrip([BoundStatement(Statement("analyze", sql: analyze))])
        }
        let statements =
            EntryQuery.all + [
                PartitionCommit.lock, PartitionCommit.write, PartitionCommit.put,
                CommitLookup.look,
            ]
        for statement in statements {
            let types = statement.kinds.map(\.typeName).joined(separator: ", ")
            let values = statement.kinds.map { "NULL::\($0.typeName)" }.joined(separator: ", ")
            let head = statement.kinds.isEmpty ? "" : "(\(types))"
            let tail = statement.kinds.isEmpty ? "" : "(\(values))"
            let name = "planned_\(statement.name)"
            _ = try connection.roundTrip([
                BoundStatement(
                    Statement("p_" + name, sql: "PREPARE \(name) \(head) AS \(statement.sql)"))
            ])
            let plan = try Self.rows("EXPLAIN EXECUTE \(name) \(tail)", connection)
                .map { $0[0] }.joined(separator: "\n")
            for step in ["Seq Scan", "Sort", "Bitmap", "Hash", "Merge", "Parallel", "Filter:"] {
                #expect(!plan.contains(step), "\(statement.name):\n\(plan)")
            }
            if EntryQuery.all.contains(statement) || statement == PartitionCommit.write {
                #expect(
                    plan.contains("Index Scan using backstitch_entries_pkey")
                        || plan.contains("Index Scan Backward using backstitch_entries_pkey"),
                    "\(statement.name):\n\(plan)")
                // All of what is looked at is found by partition and key, and not by the partition alone.
                let conditions = plan.split(separator: "\n").filter { $0.contains("Index Cond:") }
                for condition in conditions {
                    #expect(
                        ["(k = ", "(k >= ", "(ROW(p, k) >= "].contains { condition.contains($0) },
                        "\(statement.name):\n\(plan)")
                }
            }
        }
    }

    // MARK: Round trips

    @Test func `reads and writes take as many round trips as they say`() async throws {
        let storage = try TemporarySchema().storage()
        defer { storage.close() }
        func cost(_ body: () async throws -> Void) async throws -> Int {
            let before = storage.roundTripCount
            try await body()
            return storage.roundTripCount - before
        }
        let keys = (0..<200).map { Self.key($0) }
        let told: @Sendable () -> [KeyQuery] = { keys.map { .key($0) } }
        let write = try await cost {
            try await storage.write(to: [Self.partition], expecting: told) { transaction in
                for key in keys where try transaction.value(key) == nil {
                    try transaction.put(key, [1])
                }
            }
        }
        #expect(write == 2)
        let nothing = try await cost {
            try await storage.write(to: [Self.partition], expecting: told) { transaction in
                for key in keys where try transaction.value(key) == nil {
                    try transaction.put(key, [1])
                }
            }
        }
        #expect(nothing == 1)
        let read = try await cost {
            try await storage.read { transaction in
                transaction.expect { told() + [.first(300, of: HubKey(Self.partition, .record))] }
                try transaction.scan(HubKey(Self.partition, .record), from: nil) { _, _ in true }
            }
        }
        #expect(read == 1)
        #expect(storage.missCount == 0)
    }

    @Test func `writes that wait for the same partition share commits`() async throws {
        let schema = try TemporarySchema()
        let storage = try schema.storage()
        defer { storage.close() }
        let (isHeld, mayGoOn) = (Locked(false), Locked(false))
        async let first: Void = storage.write(to: [Self.partition]) { transaction in
            isHeld.withLock { $0 = true }
            blockUntil { mayGoOn.withLock { $0 } }
            try transaction.put(Self.key(0), [])
        }
        while !isHeld.withLock({ $0 }) { await Task.yield() }
        let before = storage.roundTripCount
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...UInt32(40) {
                group.addTask {
                    let write: Void? = try? await storage.write(
                        RequestWork(client: "\(number % 5)"), to: [Self.partition],
                        expecting: { [.key(Self.key(number))] }
                    ) { transaction in
                        try transaction.put(Self.key(number), [])
                        if number.isMultiple(of: 4) { throw Refused() }
                    }
                    #expect((write == nil) == number.isMultiple(of: 4))
                }
            }
            // Others are not held up.
            try await storage.write(to: [Partition(number: 2)]) {
                try $0.put(Self.key(1, in: Partition(number: 2)), [])
            }
            try await eventually { storage.waitingCount == 40 }
            mayGoOn.withLock { $0 = true }
            try await group.waitForAll()
        }
        try await first
        // Two for the other partition, one or two for the first write's end, and two for all that waited.
        #expect(storage.roundTripCount - before <= 8)
        let left = try await storage.read { try $0.size(of: Self.partition).entries }
        #expect(left == 31)
    }

    @Test func `a write that the server refuses does not fail those beside it`() async throws {
        let storage = try TemporarySchema().storage()
        defer { storage.close() }
        let (isHeld, mayGoOn) = (Locked(false), Locked(false))
        async let first: Void = storage.write(to: [Self.partition]) { transaction in
            isHeld.withLock { $0 = true }
            blockUntil { mayGoOn.withLock { $0 } }
            try transaction.put(Self.key(0), [])
        }
        while !isHeld.withLock({ $0 }) { await Task.yield() }
        await withTaskGroup(of: Void.self) { group in
            for number in 1...UInt32(9) {
                group.addTask {
                    // An index of PostgreSQL takes keys of some 2,700 bytes that can't be made shorter.
                    var generator = SystemRandomNumberGenerator()
                    let long = (0..<4_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
                    let write: Void? = try? await storage.write(to: [Self.partition]) {
                        let key = Self.key(number)
                        try $0.put(number == 5 ? key.adding(long) : key, [])
                    }
                    #expect((write == nil) == (number == 5))
                }
            }
            try? await eventually { storage.waitingCount == 9 }
            mayGoOn.withLock { $0 = true }
        }
        try await first
        #expect(try await storage.read { try $0.size(of: Self.partition).entries } == 9)
    }

    // MARK: Order

    /// Writers are held between the lock and the commit while readers page through the feed.
    @Test func `a reader that goes on where it was misses nothing that commits late`() async throws
    {
        let schema = try TemporarySchema()
        let storages = [try schema.storage(), try schema.storage()]
        defer { for storage in storages { storage.close() } }
        let feed = HubKey(Self.partition, .feed)
        let counter = HubKey(Self.partition, .zone)
        let (writers, writes) = (6, 20)
        let reads = Locked(0)
        @Sendable func position(_ transaction: any HubReading) throws -> UInt64 {
            (try transaction.value(counter) ?? []).reduce(0) { $0 << 8 | UInt64($1) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                let storage = storages[writer % 2]
                group.addTask {
                    for number in 0..<writes {
                        try await storage.write(
                            to: [Self.partition], expecting: { [.key(counter)] }
                        ) { transaction in
                            let next = try position(transaction) + 1
                            let wanted = reads.withLock { $0 } + (writer * 7 + number * 13) % 4
                            blockUntil { reads.withLock { $0 } >= wanted }
                            try transaction.put(
                                counter, withUnsafeBytes(of: next.bigEndian) { Array($0) })
                            try transaction.put(feed.adding(next), [UInt8(writer)])
                        }
                    }
                }
            }
            for storage in storages {
                group.addTask {
                    // No writer waits for one that has ended.
                    defer { reads.withLock { $0 = 1 << 40 } }
                    var last: UInt64 = 0
                    while last < UInt64(writers * writes) {
                        let (from, before) = (feed.adding(last + 1), last)
                        last = try await storage.read { transaction in
                            var seen = before
                            transaction.expect { [.first(7, of: feed, from: from)] }
                            try transaction.scan(feed, from: from) { key, _ in
                                let position = key.number(behind: feed)
                                #expect(position == seen + 1)
                                seen = position
                                return seen < before + 7
                            }
                            return seen
                        }
                        reads.withLock { $0 += 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Tables

    @Test func `a database without tables is refused with the command that makes them`() throws {
        let schema = try TemporarySchema(migrated: false)
        #expect(throws: HubError.self) {
            try PostgreSQLHubStorage.check(schema.address, clock: .system, hasBucket: true)
        }
        do {
            try schema.storage().close()
            Issue.record("It was opened.")
        } catch {
            #expect("\(error)".contains("hub migrate --storage"), "\(error)")
        }
        #expect(try PostgreSQLHubStorage.migrate(schema.address, clock: .system))
        #expect(try !PostgreSQLHubStorage.migrate(schema.address, clock: .system))
        try schema.storage().close()
        let connection = try schema.connection()
        let later = "UPDATE backstitch_meta SET version = \(HubSchema.version + 1)"
        _ = try connection.roundTrip([BoundStatement(Statement("later", sql: later))])
        do {
            try schema.storage().close()
            Issue.record("It was opened.")
        } catch {
            #expect("\(error)".contains("version \(HubSchema.version + 1)"), "\(error)")
        }
        #expect(throws: (any Error).self) {
            _ = try PostgreSQLHubStorage.migrate(schema.address, clock: .system)
        }
    }

    @Test func `several may make the tables at once, and one of them does`() async throws {
        let schema = try TemporarySchema(migrated: false)
        let made = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try PostgreSQLHubStorage.migrate(schema.address, clock: .system)
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(made == 1)
        try schema.storage().close()
    }

    @Test func `a storage begins another run when its tables were made anew`() async throws {
        let schema = try TemporarySchema()
        let storage = try schema.storage()
        defer { storage.close() }
        func run() async throws -> UInt64 {
            try await storage.write(to: [Self.partition]) { transaction in
                try transaction.put(Self.key(1), [1])
                return try transaction.run
            }
        }
        let first = try await run()
        #expect(try await run() == first)
        // As a dump is restored, here with what is there.
        let connection = try schema.connection()
        for (name, sql) in [
            ("away", "ALTER TABLE backstitch_partitions RENAME TO old_partitions"),
            ("anew", "CREATE TABLE backstitch_partitions (LIKE old_partitions INCLUDING ALL)"),
            ("filled", "INSERT INTO backstitch_partitions SELECT * FROM old_partitions"),
        ] {
            _ = try connection.roundTrip([BoundStatement(Statement(name, sql: sql))])
        }
        let second = try await run()
        #expect(second != first)
        #expect(try await run() == second)
    }

    @Test func `a copy of a database on the same server is another place`() throws {
        let cluster = try PostgreSQLCluster.shared.get()
        let original = "d" + UUID().uuidString.replacing("-", with: "").lowercased()
        let copy = original + "_copy"
        func address(_ name: String) throws -> PostgreSQLAddress {
            try PostgreSQLAddress("host=\(cluster.folder) dbname=\(name) user=postgres")
        }
        func place(_ name: String) throws -> PartitionCommit.DataPlace? {
            let connection = try Connection(address(name), .standard)
            let commit = PartitionCommit(connection, [Self.partition], mark: 1)
            try commit.lock()
            return commit.place
        }
        _ = try cluster.ask("CREATE DATABASE \(original)")
        #expect(try PostgreSQLHubStorage.migrate(address(original), clock: .system))
        _ = try cluster.ask("CREATE DATABASE \(copy) TEMPLATE \(original)")
        let (found, again, other) = (try place(original), try place(original), try place(copy))
        #expect(found != nil && found == again && found != other)
        #expect(found?.table == other?.table && found?.serverStart == other?.serverStart)
        for name in [copy, original] {
            _ = try cluster.ask("DROP DATABASE \(name) WITH (FORCE)")
        }
    }

    /// A pooler in transaction mode gives each transaction some session of the server, which need not have
    /// the statements that another one has.
    @Test func `a session without its statements is refused in the words that the guide has`()
        throws
    {
        let connection = try TemporarySchema().connection()
        let calls = [
            BoundStatement(PartitionCommit.begin), BoundStatement(PartitionCommit.rollback),
        ]
        for _ in 0..<2 { _ = try connection.roundTrip(calls) }
        _ = try connection.roundTrip([BoundStatement(Statement("forget", sql: "DEALLOCATE ALL"))])
        let failure = #expect(throws: PostgreSQLError.self) {
            _ = try connection.roundTrip(calls)
        }
        #expect(failure?.state == "26000" && failure?.isPassing == false)
        let message = try #require(failure?.message)
        #expect(message == #"prepared statement "begin" does not exist"#)
        let guide = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Documentation/internals/scale.md")
        #expect(try String(contentsOf: guide, encoding: .utf8).contains("`\(message)`"))
    }

    @Test func `a role that would lose what it commits commits safely all the same`() throws {
        let schema = try TemporarySchema()
        let address = try PostgreSQLAddress(
            schema.address.text.replacing("options='", with: "options='-c synchronous_commit=off "))
        let connection = try Connection(address, .standard)
        #expect(try Self.rows("SHOW synchronous_commit", connection) == [["on"]])
    }
}

extension Statement.Kind {
    fileprivate var typeName: String {
        switch self {
        case .number: "bigint"
        case .bytes: "bytea"
        case .numbers: "bigint[]"
        case .list: "bytea[]"
        case .text: "text"
        }
    }
}
