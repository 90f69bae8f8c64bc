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
    /// Locks the row of a partition, counts the commit and leaves its mark.
    static let lock = Statement(
        "lock", .number, .number,
        sql: """
            INSERT INTO backstitch_partitions AS a (p, seq, marks) VALUES ($1, 1, ARRAY[$2])
            ON CONFLICT (p) DO UPDATE
            SET seq = a.seq + 1, marks = (ARRAY[$2] || a.marks)[1:\(HubSchema.marksMax)]
            RETURNING seq
            """)
    static let remove = Statement(
        "remove", .number, .list,
        sql: "DELETE FROM backstitch_entries WHERE p = $1 AND k = ANY ($2)")
    static let put = Statement(
        "put", .number, .list, .list,
        sql: """
            INSERT INTO backstitch_entries AS e (p, k, v)
            SELECT $1, n.k, n.v FROM unnest($2, $3) AS n (k, v)
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

    /// - Parameter mark: By what the commit is known again, should its answer be lost.
    init(_ connection: Connection, _ partitions: Partitions, mark: Int64) {
        (self.connection, self.partitions, self.mark) = (connection, partitions, mark)
    }

    private var opening: [Call] {
        if hasBegun { return [] }
        return [Call(Self.begin)]
            + partitions.ascending.map { Call(Self.lock).adding($0.column).adding(mark) }
    }

    /// Answers queries in one round trip, the first time with the locks.
    func find(_ queries: [KeyQuery]) throws -> [BufferedTransaction.Found] {
        do {
            let (rows, found) = try EntryQuery.find(queries, after: opening, connection)
            if !hasBegun { numbers = try rows.dropFirst().map { try $0.number(0, 0) } }
            hasBegun = true
            return found
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

    /// Writes and commits what the locks are had for, in one round trip.
    func end(writing writes: [HubKey: [UInt8]?]) throws {
        var calls: [Call] = []
        // In the order of their keys, by which the index is walked.
        let sorted = writes.sorted { $0.key < $1.key }
        for partition in partitions.ascending {
            let own = sorted.filter { $0.key.partition == partition }
            let removed = own.filter { $0.value == nil }
            if !removed.isEmpty {
                calls.append(
                    Call(Self.remove).adding(partition.column)
                        .adding(removed.map(\.key.behindPartition)))
            }
            let put = own.filter { $0.value != nil }
            if !put.isEmpty {
                calls.append(
                    Call(Self.put).adding(partition.column).adding(put.map(\.key.behindPartition))
                        .adding(put.map { $0.value ?? [] }))
            }
        }
        calls.append(Call(Self.commit))
        let rows = try connection.roundTrip(calls)
        guard rows.last?.tag == "COMMIT" else {
            throw PostgreSQLError(.refused, "A transaction was undone in place of its commit.")
        }
    }
}
