public import BackstitchCore
import LMDB

/// A conflict that was settled, with all its sides, as the conflict journal keeps it.
///
/// Values are by attribute name; nil says that the record did not exist on that side.
public struct Conflict: Hashable, Sendable {
    /// The sequence of the operation that settled it.
    public let sequence: UInt64
    /// The name of the entity.
    public let entity: String
    /// The record's zone and name.
    public let record: RecordKey
    /// The policy that decided.
    public let policy: ConflictPolicy
    /// The version that both sides started from.
    public let base: [String: Value]?
    /// The local version.
    public let local: [String: Value]?
    /// The service's version.
    public let server: [String: Value]?
    /// What both sides agreed on.
    public let outcome: [String: Value]?
    /// The new record that has the local version, where both were kept.
    public let copy: RecordName?
}

extension Conflict {
    init(
        _ report: ConflictReport, sequence: UInt64, table: EntityTable?, entity: EntityNumber,
        record: RecordKey
    ) {
        func values(_ fields: Fields?) -> [String: Value]? {
            guard let fields else { return nil }
            if let table { return table.values(of: fields) }
            return Dictionary(
                uniqueKeysWithValues: fields.map { ("field \($0.field.rawValue)", $0.value) })
        }
        self.sequence = sequence
        self.entity = table?.name ?? "entity \(entity.rawValue)"
        self.record = record
        policy = report.policy
        base = values(report.base)
        local = values(report.local)
        server = values(report.server)
        outcome = values(report.outcome)
        copy = report.copy
    }
}

extension ReadTransaction {
    /// Reads the conflict journal, newest first.
    ///
    /// - Parameter limit: The most conflicts to read.
    /// - Throws: `damaged` where an entry can't be read.
    public func conflicts(limit: Int) throws -> [Conflict] {
        guard limit > 0 else { return [] }
        var conflicts: [Conflict] = []
        try reader.visitJournalBackwards { sequence, value in
            guard value.count > 2,
                let key = RecordKey(reading: value.part(2..<value.count)),
                let report = try? ConflictReport(
                    reading: value.part((2 + key.byteCount)..<value.count))
            else {
                throw StoreError(
                    .damaged, "The journal entry of operation \(sequence) is damaged. Run rebuild.")
            }
            let entity = EntityNumber(UInt16(value[0]) << 8 | UInt16(value[1]))
            conflicts.append(
                Conflict(
                    report, sequence: sequence, table: reader.catalog.table(entity), entity: entity,
                    record: key))
            return conflicts.count < limit
        }
        return conflicts
    }
}

extension TableReader {
    /// Visits the conflict journal from its last entry back.
    fileprivate func visitJournalBackwards(
        _ visit: (UInt64, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try access.withCursor(in: databases.tables) { cursor in
            let end = [TableKey.journal + 1]
            let isBehind = try end.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
            var isThere = isBehind ? try cursor.previous() : try cursor.last()
            while isThere, cursor.key.first == TableKey.journal {
                let key = cursor.key
                let sequence = key.part(1..<key.count).sequence
                if sequence <= lastVisible {
                    guard try visit(sequence, cursor.value) else { return }
                }
                isThere = try cursor.previous()
            }
        }
    }
}
