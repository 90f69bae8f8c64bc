import BackstitchCore
package import BackstitchLog
import LMDB
import XXHash

/// The result of a rebuild.
public struct RebuildReport: Hashable, Sendable {
    /// The number of operations that were applied.
    public let operations: Int
    /// The number of entries in the tables after it: rows, index entries, journal entries.
    public let entries: Int
    /// Whether the tables are byte for byte what they were before; rows that an older version wrote
    /// without a checksum get one, and count as the same.
    public let isIdentical: Bool
}

extension Store {
    /// Rebuilds the tables from the log, in one transaction.
    ///
    /// The tables are a function of the log, so this changes nothing unless they were damaged.
    /// Writers wait, about ten microseconds an operation; readers see the old tables.
    ///
    /// - Parameter progress: Called now and then, on another thread; starts again at zero if the
    ///   file had to grow.
    /// - Throws: `damaged` if the log itself is; the tables are then unchanged.
    @discardableResult
    public func rebuild(
        progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) async throws -> RebuildReport {
        try await withLogWriter { try TablesRebuild(log: $0).report(progress) }
    }
}

/// A digest of everything in the tables.
package struct TablesDigest: Equatable {
    /// A hash of all keys, and of what of their values says something.
    package private(set) var hash: UInt64 = 0
    package private(set) var entries = 0

    package init(_ reader: TableReader) throws {
        try reader.access.withCursor(in: reader.databases.tables) { cursor in
            var isThere = try cursor.first()
            while isThere {
                hash = Checksum.xxh64(cursor.key, seed: hash)
                hash = Checksum.xxh64(
                    Self.contents(of: cursor.value, at: cursor.key), seed: hash)
                entries += 1
                isThere = try cursor.next()
            }
        }
    }

    /// What of a value says something: of an intact row, what all versions have.
    private static func contents(
        of value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        guard key.first == TableKey.rows, let row = RowView(value), row.isIntact(at: key) else {
            return value
        }
        return row.contents
    }
}

/// Makes the tables anew within a write.
private struct TablesRebuild {
    let log: LogWriter

    /// Rebuilds the tables, and compares them with what they were.
    func report(_ progress: (WorkProgress) -> Void) throws -> RebuildReport {
        let operations = try log.access.count(of: log.databases.log)
        let before = try TablesDigest(log.reader)
        try run { progress(WorkProgress(done: $0, total: operations)) }
        let after = try TablesDigest(log.reader)
        return RebuildReport(
            operations: operations, entries: after.entries, isIdentical: before == after)
    }

    /// Empties the tables and applies the whole log again.
    ///
    /// - Parameter progress: Called now and then with the number of operations that were applied.
    private func run(progress: (Int) -> Void) throws {
        if let problem = try Verifier(reader: log.reader).lostEnd() {
            throw StoreError(.damaged, problem + " Run 'backstitch doctor' on the store.")
        }
        log.hasWrittenDirectly = true
        try log.access.clear(log.databases.tables)
        var projector = Projector(access: log.access, databases: log.databases)
        var done = 0
        try log.reader.log.visit(from: 1) { operation in
            try projector.apply(operation, catalog: log.catalog)
            done += 1
            if done % WorkProgress.interval == 0 { progress(done) }
            return true
        }
        try log.recountOutbox()
    }
}
