public import BackstitchCore
import LMDB

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
    /// The parked records, in the order of their entities and keys.
    package func parkedRecords() throws -> [ParkedRecord] {
        var records: [ParkedRecord] = []
        try withUnsafeBytes(of: TableKey.parked) { prefix in
            try visit(prefix: prefix) { key, value in
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
        }
        return records
    }

    private static var damaged: StoreError {
        StoreError(.damaged, "An entry of a table can't be read. Run rebuild.")
    }
}
