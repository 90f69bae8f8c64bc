public import BackstitchCore
import BackstitchLog
public import Foundation
import LMDB

/// A conflict that was settled, with all its sides, as the conflict journal keeps it.
///
/// Values are by attribute name; nil says that the record did not exist on that side.
public struct Conflict: Hashable, Sendable {
    /// The sequence of the operation that settled it.
    public let sequence: UInt64
    /// When it was settled, by this device's clock.
    public let date: Date
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
    /// The record that has the local version: a new one if both were kept, or the one that this
    /// one became one with, because a unique attribute had the same value.
    public let copy: RecordName?
}

extension Conflict {
    init(
        _ report: ConflictReport, sequence: UInt64, clock: UInt64, table: EntityTable?,
        entity: EntityNumber, record: RecordKey
    ) {
        func values(_ fields: Fields?) -> [String: Value]? {
            guard let fields else { return nil }
            if let table { return table.values(of: fields) }
            return Dictionary(
                uniqueKeysWithValues: fields.map { ("field \($0.field.rawValue)", $0.value) })
        }
        self.sequence = sequence
        date = Date(milliseconds: LogicalClock.milliseconds(of: clock))
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
    /// - Parameters:
    ///   - filter: Which conflicts.
    ///   - limit: The most conflicts to read.
    /// - Throws: `damaged` if an entry can't be read.
    public func conflicts(
        matching filter: ConflictFilter = ConflictFilter(), limit: Int = .max
    ) throws -> [Conflict] {
        guard limit > 0 else { return [] }
        var conflicts: [Conflict] = []
        try reader.visitJournalBackwards(before: filter.beforeSequence ?? .max) { entry in
            let conflict = Conflict(
                entry.report, sequence: entry.sequence,
                clock: try reader.withOperation(entry.sequence, \.clock) ?? 0,
                table: reader.catalog.table(entry.entity), entity: entry.entity,
                record: entry.key)
            if filter.accepts(conflict) { conflicts.append(conflict) }
            return conflicts.count < limit
        }
        return conflicts
    }
}

/// An entry of the conflict journal.
struct JournalEntry {
    let sequence: UInt64
    let entity: EntityNumber
    let key: RecordKey
    let report: ConflictReport

    init(_ sequence: UInt64, _ value: UnsafeRawBufferPointer) throws {
        guard value.count > 2, let key = RecordKey(reading: value.part(2..<value.count)),
            let report = try? ConflictReport(reading: value.part((2 + key.byteCount)..<value.count))
        else {
            throw StoreError(
                .damaged, "The journal entry of operation \(sequence) is damaged. Run rebuild.")
        }
        self.sequence = sequence
        entity = EntityNumber(UInt16(value[0]) << 8 | UInt16(value[1]))
        self.key = key
        self.report = report
    }
}

extension TableReader {
    /// The entry of a conflict; nil if there is none.
    func journalEntry(_ sequence: UInt64) throws -> JournalEntry? {
        guard sequence < .max else { return nil }
        var found: JournalEntry?
        try visitJournalBackwards(before: sequence + 1) { entry in
            if entry.sequence == sequence { found = entry }
            return false
        }
        return found
    }

    /// Visits the conflict journal from the last entry before a sequence back.
    fileprivate func visitJournalBackwards(
        before sequence: UInt64, _ visit: (JournalEntry) throws -> Bool
    ) throws {
        try access.withCursor(in: databases.tables) { cursor in
            var end: [UInt8] = [TableKey.journal]
            withUnsafeBytes(of: sequence.bigEndian) { end += $0 }
            let isBehind = try end.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
            var isThere = isBehind ? try cursor.previous() : try cursor.last()
            while isThere, cursor.key.first == TableKey.journal {
                let key = cursor.key
                let entry = try JournalEntry(key.part(1..<key.count).sequence, cursor.value)
                if entry.sequence <= lastVisible {
                    guard try visit(entry) else { return }
                }
                isThere = try cursor.previous()
            }
        }
    }
}
