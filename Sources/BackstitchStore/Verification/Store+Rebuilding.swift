import BackstitchCore
package import BackstitchLog
import LMDB
import XXHash

/// What a rebuild found.
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
    /// Makes the tables anew from the log, in one transaction.
    ///
    /// The tables are a function of the log, so that this changes nothing unless they were damaged.
    /// Writers wait meanwhile, about ten microseconds an operation; readers see the old tables.
    ///
    /// - Parameter progress: Called now and then, on another thread; begins anew where the file had to
    ///   grow.
    /// - Throws: `damaged` if the log itself is; the tables are as they were then.
    @discardableResult
    public func rebuild(
        progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) async throws -> RebuildReport {
        try await withLogWriter { context in
            let operations = try context.access.count(of: context.databases.log)
            let before = try context.reader.digestOfTables()
            try context.rebuildTables { progress(WorkProgress(done: $0, total: operations)) }
            let after = try context.reader.digestOfTables()
            return RebuildReport(
                operations: operations, entries: after.entries, isIdentical: before == after)
        }
    }
}

extension TableReader {
    /// A digest of everything in the tables.
    struct Digest: Equatable {
        var hash: UInt64 = 0
        var entries = 0
    }

    /// A hash of everything in the tables.
    package var hashOfTables: UInt64 {
        get throws { try digestOfTables().hash }
    }

    func digestOfTables() throws -> Digest {
        var digest = Digest()
        try access.withCursor(in: databases.tables) { cursor in
            var isThere = try cursor.first()
            while isThere {
                digest.hash = Checksum.xxh64(cursor.key, seed: digest.hash)
                digest.hash = Checksum.xxh64(
                    Self.contents(of: cursor.value, at: cursor.key), seed: digest.hash)
                digest.entries += 1
                isThere = try cursor.next()
            }
        }
        return digest
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
