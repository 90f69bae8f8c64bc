import BackstitchHubCore

/// A transaction of the database that writes to partitions: it locks them, then reads, then writes.
///
/// The rows of the partitions are locked by the first statements, and what follows is read by statements
/// of their own, which see what was committed before the lock was had. Every writer of a partition takes
/// its row first, so that what is read of it stays true until the end.
final class PartitionCommit {
    static let begin = Statement("begin", sql: "BEGIN ISOLATION LEVEL READ COMMITTED")
    static let commit = Statement("commit", sql: "COMMIT")
    static let rollback = Statement("rollback", sql: "ROLLBACK")
    /// Locks the rows of partitions one after another, counts the commit and leaves its mark. It tells when the
    /// server was started, and which table of which database has the rows: who puts the data back to an older
    /// state starts a server, makes the tables anew, or takes a copy of the database, where tables keep their
    /// numbers.
    static let lock = Statement(
        "lock", .numbers, .number,
        sql: """
            INSERT INTO backstitch_partitions AS a (p, seq, marks)
            SELECT n.p, 1, ARRAY[$2] FROM unnest($1) AS n (p)
            ON CONFLICT (p) DO UPDATE
            SET seq = a.seq + 1, marks = (ARRAY[$2] || a.marks)[1:\(HubSchema.marksMax)]
            RETURNING seq, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
                a.tableoid::bigint,
                (SELECT oid::bigint FROM pg_database WHERE datname = current_database())
            """)
    /// Removes entries, changes entries that are there, and adds some that are not: what is known of them
    /// spares the server a look, a lock and a part of its log for each.
    static let write = Statement(
        "write", .numbers, .list, .numbers, .list, .list, .numbers, .list, .list,
        sql: """
            WITH removed AS (
                DELETE FROM backstitch_entries AS e USING unnest($1, $2) AS n (p, k)
                WHERE e.p = n.p AND e.k = n.k),
            changed AS (
                UPDATE backstitch_entries AS e SET v = n.v FROM unnest($3, $4, $5) AS n (p, k, v)
                WHERE e.p = n.p AND e.k = n.k)
            INSERT INTO backstitch_entries (p, k, v)
            SELECT n.p, n.k, n.v FROM unnest($6, $7, $8) AS n (p, k, v)
            """)
    /// Sets entries of which it is not known whether they are there.
    static let put = Statement(
        "put", .numbers, .list, .list,
        sql: """
            INSERT INTO backstitch_entries AS e (p, k, v)
            SELECT n.p, n.k, n.v FROM unnest($1, $2, $3) AS n (p, k, v)
            ON CONFLICT (p, k) DO UPDATE SET v = excluded.v
            """)

    private let connection: Connection
    private let partitions: Partitions
    private let mark: Int64
    private var hasBegun = false
    /// What kept a round trip from its end: the whole transaction is lost with it.
    private(set) var failure: (any Error)?
    /// The number of this commit in each of the partitions; empty before they are locked.
    private(set) var numbers: [Int64] = []
    /// Where the data is; nil before the partitions are locked, and if there are none.
    private(set) var place: DataPlace?

    /// By what data is known that was not put back to an older state.
    struct DataPlace: Hashable, Sendable {
        /// When the server was started, in microseconds since 1970.
        var serverStart: Int64
        /// The table that has the rows of the partitions.
        var table: Int64
        /// The database of the table.
        var database: Int64
    }

    /// - Parameter mark: By what the commit is known again, should its answer be lost.
    init(_ connection: Connection, _ partitions: Partitions, mark: Int64) {
        (self.connection, self.partitions, self.mark) = (connection, partitions, mark)
    }

    private var opening: [Call] {
        if hasBegun { return [] }
        return [
            Call(Self.begin),
            Call(Self.lock).adding(partitions.ascending.map(\.column)).adding(mark),
        ]
    }

    /// Answers queries in one round trip, the first time with the locks.
    func find(_ queries: [KeyQuery]) throws -> BufferedTransaction.Fetched {
        do {
            let (rows, fetched) = try EntryQuery.find(queries, after: opening, connection)
            if !hasBegun {
                numbers = try (0..<rows[1].count).map { try rows[1].number($0, 0) }
                if rows[1].count > 0 {
                    place = DataPlace(
                        serverStart: try rows[1].number(0, 1), table: try rows[1].number(0, 2),
                        database: try rows[1].number(0, 3))
                }
            }
            hasBegun = true
            return fetched
        } catch {
            failure = failure ?? error
            throw error
        }
    }

    /// Ends a transaction that writes nothing; nobody waits for it.
    func end() throws {
        try connection.sendOnly([Call(Self.rollback)])
    }

    /// Locks the partitions, if no read did.
    ///
    /// The locks are had before a commit is sent. So a connection that is cut leaves a transaction that has
    /// them until it ends, and nobody finds its mark missing before.
    func lock() throws {
        if !hasBegun { _ = try find([]) }
    }

    /// Entries to write, in the order of their keys, by which the index is walked.
    private struct Entries {
        var partitions: [Int64] = []
        var keys: [ArraySlice<UInt8>] = []
        var values: [[UInt8]] = []

        mutating func add(_ key: HubKey, _ value: [UInt8]? = nil) {
            partitions.append(key.partition?.column ?? 0)
            keys.append(key.behindPartition)
            if let value { values.append(value) }
        }
    }

    /// Writes and commits what the locks are had for, in one round trip.
    func end(_ transaction: BufferedTransaction) throws {
        var (removed, changed, added, put) = (Entries(), Entries(), Entries(), Entries())
        for key in transaction.writtenKeys {
            guard let value = transaction.writes[key] ?? nil else { continue }
            switch transaction.isStored(key) {
            case true: changed.add(key, value)
            case false: added.add(key, value)
            case nil: put.add(key, value)
            }
        }
        let removals = transaction.writes.filter { $0.value == nil }.keys.sorted()
        for key in removals where transaction.isStored(key) != false { removed.add(key) }
        var calls: [Call] = []
        if !removed.keys.isEmpty || !changed.keys.isEmpty || !added.keys.isEmpty {
            calls.append(
                Call(Self.write).adding(removed.partitions).adding(removed.keys)
                    .adding(changed.partitions).adding(changed.keys).adding(changed.values)
                    .adding(added.partitions).adding(added.keys).adding(added.values))
        }
        if !put.keys.isEmpty {
            calls.append(
                Call(Self.put).adding(put.partitions).adding(put.keys).adding(put.values))
        }
        calls.append(Call(Self.commit))
        let rows = try connection.roundTrip(calls)
        guard rows.last?.tag == "COMMIT" else {
            throw PostgreSQLError(.refused, "A transaction was undone in place of its commit.")
        }
    }
}
