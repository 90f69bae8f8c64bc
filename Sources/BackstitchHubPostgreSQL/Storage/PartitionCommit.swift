import BackstitchHubCore

/// A transaction of the database that writes to partitions: it locks them, then reads, then writes.
///
/// The table `backstitch_partitions` has a row for each partition. The first statement updates the rows of
/// the partitions, which locks them. Later statements see everything that was committed before they began,
/// and every writer of a partition locks its row first. So no other transaction changes a partition between
/// the first read and the commit.
final class PartitionCommit {
    static let begin = Statement("begin", sql: "BEGIN ISOLATION LEVEL READ COMMITTED")
    static let commit = Statement("commit", sql: "COMMIT")
    static let rollback = Statement("rollback", sql: "ROLLBACK")
    /// Locks the rows of partitions in the given order, adds one to their numbers of commits, and adds the
    /// mark of this commit to those of the last ones.
    ///
    /// Returns for each partition the number, and the values of ``DataPlace``.
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
    /// Removes entries ($1, $2), changes entries that are stored ($3 to $5), and adds entries that are not
    /// ($6 to $8). Unlike ``put``, it need not find out which are stored: that costs the server a look-up, a
    /// lock and some bytes of its log for each entry.
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
    /// Sets entries that may be stored or not, because the transaction did not read them.
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
    /// Whether the partitions are locked.
    private var hasBegun = false
    /// The failure of a round trip, after which the transaction can't be committed.
    private(set) var failure: (any Error)?
    /// The number of this commit in each of the partitions, in ascending order of these; empty before they
    /// are locked.
    private(set) var numbers: [Int64] = []
    /// Where the data is; nil before the partitions are locked, and if there are none.
    private(set) var place: DataPlace?

    /// Identifies the server's run, the table and the database that hold the data.
    ///
    /// As long as all three stay the same, the data was not put back to an older state. For that one starts a
    /// server, makes the tables anew, or takes a copy of the database. Tables of a copy have the same
    /// numbers, but the copy has another one.
    struct DataPlace: Hashable, Sendable {
        /// When the server was started, in microseconds since 1970.
        var serverStart: Int64
        /// The object identifier of the table with the rows of the partitions.
        var table: Int64
        /// The object identifier of the database.
        var database: Int64
    }

    /// - Parameter mark: A random number. If the connection is cut while the transaction commits,
    ///   ``CommitLookup`` looks for it in the rows of the partitions.
    init(_ connection: Connection, _ partitions: Partitions, mark: Int64) {
        (self.connection, self.partitions, self.mark) = (connection, partitions, mark)
    }

    /// The calls that begin the transaction and lock the partitions; none once they were sent.
    private var opening: [BoundStatement] {
        if hasBegun { return [] }
        return [
            BoundStatement(Self.begin),
            BoundStatement(Self.lock).adding(partitions.ascending.map(\.column)).adding(mark),
        ]
    }

    /// Reads what queries ask for, in one round trip. The first one also locks the partitions.
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

    /// Rolls back a transaction that wrote nothing, without waiting for the server's answer.
    func end() throws {
        try connection.sendOnly([BoundStatement(Self.rollback)])
    }

    /// Locks the partitions, unless a read has done so. To be called before ``end(_:)``.
    ///
    /// The server then has the locks before it gets the commit. If the connection is cut meanwhile, the
    /// transaction keeps them until the server ends it, and ``CommitLookup``, which waits for a lock, can't
    /// look before: a mark that it does not find means that nothing was committed.
    func lock() throws {
        if !hasBegun { _ = try find([]) }
    }

    /// Entries to write, as columns of a statement. They are in the order of their keys, in which the server
    /// finds their places in the index fastest.
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

    /// Writes the changes of a transaction and commits them, in one round trip. The partitions must be
    /// locked.
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
        var calls: [BoundStatement] = []
        if !removed.keys.isEmpty || !changed.keys.isEmpty || !added.keys.isEmpty {
            calls.append(
                BoundStatement(Self.write).adding(removed.partitions).adding(removed.keys)
                    .adding(changed.partitions).adding(changed.keys).adding(changed.values)
                    .adding(added.partitions).adding(added.keys).adding(added.values))
        }
        if !put.keys.isEmpty {
            calls.append(
                BoundStatement(Self.put).adding(put.partitions).adding(put.keys).adding(put.values))
        }
        calls.append(BoundStatement(Self.commit))
        let rows = try connection.roundTrip(calls)
        guard rows.last?.tag == "COMMIT" else {
            throw PostgreSQLError(.refused, "A transaction was undone in place of its commit.")
        }
    }
}
