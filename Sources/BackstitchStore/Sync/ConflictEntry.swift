public import BackstitchCore
import LMDB

/// An entry of the conflict journal: a record that was changed on both sides, and how that ended.
public struct ConflictEntry: Hashable, Sendable, Identifiable {
    /// The sequence of the operation that ended the conflict.
    public let id: UInt64
    /// The entity.
    public let entity: String
    /// The record's name.
    public let recordName: RecordName
    /// The policy that decided.
    public let policy: ConflictPolicy
    /// The version that both sides started from, by attribute; nil where there was none.
    public let base: [String: Value]?
    /// The local version, by attribute; nil where the record was deleted here.
    public let local: [String: Value]?
    /// The service's version, by attribute; nil where the record was deleted there.
    public let server: [String: Value]?
    /// What both sides agree on in the end; nil where the record ended.
    public let outcome: [String: Value]?
}

/// A record that can't be pushed as it is.
public struct ParkedRecord: Hashable, Sendable {
    /// The entity.
    public let entity: String
    /// The record's name.
    public let recordName: RecordName
    /// Why the service refused it.
    public let reason: String

    package init(entity: String, recordName: RecordName, reason: String) {
        self.entity = entity
        self.recordName = recordName
        self.reason = reason
    }
}

extension TableReader {
    /// The entries of the conflict journal, oldest first.
    package func conflicts() throws -> [ConflictEntry] {
        var entries: [ConflictEntry] = []
        try visit(table: TableKey.journal) { key, value in
            guard key.count == 9, value.count >= 5,
                let table = catalog.table(
                    EntityNumber(UInt16(value[0]) << 8 | UInt16(value[1]))),
                let recordKey = RecordKey(reading: value.part(2..<value.count))
            else { throw Self.damaged }
            let report = try ConflictReport(
                reading: value.part((2 + recordKey.byteCount)..<value.count))
            func named(_ fields: Fields?) -> [String: Value]? {
                guard let fields else { return nil }
                var named: [String: Value] = [:]
                for (field, value) in fields {
                    if let attribute = table.attribute(field) { named[attribute.name] = value }
                }
                return named
            }
            entries.append(
                ConflictEntry(
                    id: key.part(1..<9).sequence, entity: table.name, recordName: recordKey.name,
                    policy: report.policy, base: named(report.base), local: named(report.local),
                    server: named(report.server), outcome: named(report.outcome)))
            return true
        }
        return entries
    }

    /// The parked records, in the order of their entities and keys.
    package func parkedRecords() throws -> [ParkedRecord] {
        var records: [ParkedRecord] = []
        try visit(table: TableKey.parked) { key, value in
            guard key.count > TableKey.rowPrefixByteCount, value.count >= 8,
                let table = catalog.table(EntityNumber(UInt16(key[1]) << 8 | UInt16(key[2]))),
                let recordKey = RecordKey(
                    reading: key.part(TableKey.rowPrefixByteCount..<key.count))
            else { throw Self.damaged }
            records.append(
                ParkedRecord(
                    entity: table.name, recordName: recordKey.name,
                    reason: String(decoding: value.part(8..<value.count), as: UTF8.self)))
            return true
        }
        return records
    }

    private func visit(
        table: UInt8,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try withUnsafeBytes(of: table) { try self.visit(prefix: $0, visit) }
    }

    private static var damaged: StoreError {
        StoreError(.damaged, "An entry of a table can't be read. Run rebuild.")
    }
}

extension WriteContext {
    /// Ends all records here, unsynced ones too, as though the service had never had any.
    package func eraseRecords() throws {
        var places: [RecordPlace] = []
        for table in catalog.tables {
            try reader.visitStoredRows(of: table.number) { bytes, _ in
                guard let key = RecordKey(reading: bytes) else { return true }
                places.append(RecordPlace(entity: table.number, key: key))
                return true
            }
        }
        for place in places {
            guard let row = try reader.row(place.entity, place.key) else { continue }
            if row.isDeleted {
                try acknowledge(
                    place.entity, place.key, through: row.lastSequence, version: nil)
            } else {
                try appendDelete(
                    origin: .remote, entity: place.entity, key: place.key, row: row,
                    stamp: SyncStamp(nil, through: row.lastSequence))
            }
        }
    }
}
