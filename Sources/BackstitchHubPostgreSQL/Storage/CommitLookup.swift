import BackstitchHubCore

/// Finds out whether a commit was made whose answer was lost.
enum CommitLookup {
    /// Waits for the row of the partition, which the lost transaction may still have locked, or may be
    /// about to make. What this one writes is undone.
    static let look = Statement(
        "look", .number,
        sql: """
            INSERT INTO backstitch_partitions AS a (p, seq, marks) VALUES ($1, 0, '{}')
            ON CONFLICT (p) DO UPDATE SET seq = a.seq RETURNING seq, marks
            """)

    /// What became of a commit.
    enum Outcome: Hashable, Sendable {
        case made
        case notMade
        /// So many commits came after it that its mark would be gone.
        case unknown
    }

    /// What became of a commit.
    ///
    /// - Parameters:
    ///   - mark: That of the commit, which no other one has.
    ///   - number: Its number in the partition, if that is known.
    ///   - lastNumber: The number of the partition's last commit; 0 if it has none.
    ///   - marks: Those of its last commits.
    static func outcome(
        of mark: Int64, _ number: Int64?, lastNumber: Int64, marks: [Int64]
    ) -> Outcome {
        if marks.contains(mark) { return .made }
        // All commits from the first one on, or from before this one on, are among the marks.
        if marks.count < HubSchema.marksMax { return .notMade }
        guard let number else { return .unknown }
        return lastNumber - Int64(marks.count) < number ? .notMade : .unknown
    }

    /// Looks into the partition's row.
    static func look(
        for mark: Int64, _ number: Int64?, in partition: Partition, _ connection: Connection
    ) throws -> Outcome {
        let rows = try connection.roundTrip([
            BoundStatement(PartitionCommit.begin), BoundStatement(look).adding(partition.column),
            BoundStatement(PartitionCommit.rollback),
        ])[1]
        return outcome(
            of: mark, number, lastNumber: try rows.number(0, 0), marks: rows.numbers(0, 1))
    }
}

extension Rows {
    /// The numbers of an array of one dimension.
    fileprivate func numbers(_ row: Int, _ column: Int) -> [Int64] {
        let bytes = unsafe bytes(row, column)
        // Dimensions, flags, type, count and lower bound; then each with its length before it.
        let headBytes = 20
        let step = 12
        guard bytes.count > headBytes else { return [] }
        return stride(from: headBytes + 4, to: bytes.count, by: step).compactMap { offset in
            guard offset + 8 <= bytes.count else { return nil }
            return unsafe Int64(
                bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self))
        }
    }
}
