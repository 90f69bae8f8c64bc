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
    /// Whether the tables are byte for byte what they were before.
    public let isIdentical: Bool
}

extension Store {
    /// Rebuilds the tables from the log, in one transaction.
    ///
    /// The tables are a function of the log, so this changes nothing unless they were damaged.
    /// Writers wait, about ten microseconds an operation; readers see the old tables.
    ///
    /// - Parameter progress: Called now and then, on another thread; from zero again if the file grew.
    /// - Throws: `damaged` if the log itself is; the tables are then unchanged.
    @discardableResult
    public func rebuild(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> RebuildReport {
        try await withLogWriter { try TablesRebuild(log: $0).report(progress) }
    }
}

/// A digest of everything in the tables.
package struct TablesDigest: Equatable {
    /// A hash of all keys and values.
    package private(set) var hash: UInt64 = 0
    package private(set) var entries = 0
    private let hasContents: Bool

    /// - Parameter hasContents: Whether the index of contents counts, of which a compaction takes a part.
    package init(_ reader: TableReader, hasContents: Bool = true) throws {
        self.hasContents = hasContents
        for entity in reader.access.entitiesWithRows {
            guard let rows = reader.access.rows(of: entity) else { continue }
            try add(rows, TableKey.rowPrefix(entity), reader)
        }
        try add(reader.databases.tables, [], reader)
    }

    /// Adds the entries of a database.
    ///
    /// - Parameter prefix: What stands before its keys in those of ``TableKey``.
    private mutating func add(
        _ database: Database, _ prefix: [UInt8], _ reader: TableReader
    ) throws {
        hash = unsafe prefix.withUnsafeBytes { unsafe Checksum.xxh64($0, seed: hash) }
        var digest = self
        try reader.access.withCursor(in: database) { cursor in
            while try cursor.next() {
                let isOfContents = unsafe prefix.isEmpty && cursor.key.first == TableKey.contents
                if isOfContents, !hasContents { continue }
                digest.hash = unsafe Checksum.xxh64(cursor.key, seed: digest.hash)
                digest.hash = unsafe Checksum.xxh64(cursor.value, seed: digest.hash)
                digest.entries += 1
            }
        }
        self = digest
    }
}

/// Makes the tables anew within a write.
struct TablesRebuild {
    let log: LogWriter
    /// The operations whose records are in memory at once, about.
    var operationsPerPart = 1 << 18

    /// Rebuilds the tables, and compares them with what they were.
    func report(_ progress: (_ done: Int, _ total: Int) -> Void) throws -> RebuildReport {
        let operations = try log.access.count(of: log.databases.log)
        let before = try TablesDigest(log.reader)
        try run { progress($0, operations) }
        let after = try TablesDigest(log.reader)
        return RebuildReport(
            operations: operations, entries: after.entries, isIdentical: before == after)
    }

    /// Empties the tables and applies the whole log again, record by record in the order of their keys, so that
    /// rows are only added behind others, and entries put in the order of theirs.
    ///
    /// - Parameter progress: Called now and then with the number of operations that were applied.
    private func run(progress: (Int) -> Void) throws {
        if let problem = try Verifier(reader: log.reader).lostEnd() {
            throw StoreError(.damaged, problem + " Run 'backstitch doctor' on the store.")
        }
        log.hasWrittenDirectly = true
        try log.access.makeMembers(through: log.catalog.tables.count)
        try log.access.clearTables(log.databases)
        let count = try log.access.count(of: log.databases.log) / operationsPerPart + 1
        let parts = try RecordParts(log.reader.log, count: count)
        var done = 0
        for part in 0..<parts.count {
            // Pages of the log that this transaction changed before may move.
            let operations = try PartOperations(
                log.reader.log, part: part, of: parts, copies: true)
            var entries = EntryBuffer()
            try unsafe operations.replay(log.reader) {
                done += $0
                progress(done)
            } _: { entity, key, record in
                if let row = unsafe record.rowBytes {
                    let rows = try log.access.rowsForWriting(of: entity)
                    try unsafe log.access.append(key, row, in: rows)
                }
                unsafe record.finish { unsafe entries.append($0, $1) }
            }
            entries.sort()
            try unsafe entries.visit { key, value in
                if parts.count == 1 {
                    try unsafe log.access.append(key, value, in: log.databases.tables)
                } else {
                    try unsafe log.access.put(key, value, in: log.databases.tables)
                }
            }
        }
        try log.recountOutbox()
    }
}
