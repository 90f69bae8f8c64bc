public import BackstitchCore
package import BackstitchLog
import LMDB

/// A record with changes that can't be pushed as they are.
public struct ParkedRecord: Hashable, Sendable {
    /// The entity.
    public let entity: String
    /// The record's name.
    public let recordName: RecordName
    /// The sequence of the operation that parked it.
    public let sequence: UInt64
    /// The code and the words of the service's refusal, or why a conflict was not settled, as the
    /// log has them.
    public let reason: String

    package init(entity: String, recordName: RecordName, sequence: UInt64, reason: String) {
        self.entity = entity
        self.recordName = recordName
        self.sequence = sequence
        self.reason = reason
    }

    /// What kind of refusal it was; nil if a conflict parked the record, and for a code that this
    /// version does not know.
    public var code: ServiceError.Code? { Self.code(of: reason) }

    /// The service's words without the code; empty if it had none.
    public var message: String {
        guard code != nil else { return reason }
        return String(reason.drop { $0 != ":" }.dropFirst(2))
    }

    /// The code that a reason begins with.
    static func code(of reason: String) -> ServiceError.Code? {
        ServiceError.Code(rawValue: String(reason.prefix { $0 != ":" }))
    }
}

extension TableReader {
    /// The parked records, in the order of their entities and keys.
    package func parkedRecords(limit: Int = .max) throws -> [ParkedRecord] {
        var records: [ParkedRecord] = []
        guard limit > 0 else { return records }
        try visitParked { place, sequence, reason in
            records.append(
                ParkedRecord(
                    entity: catalog.table(place.entity)?.name ?? "entity \(place.entity.rawValue)",
                    recordName: place.key.name, sequence: sequence, reason: reason))
            return records.count < limit
        }
        return records
    }

    /// Visits the parked records until the closure returns false.
    func visitParked(
        _ body: (RecordPlace, _ sequence: UInt64, _ reason: String) throws -> Bool
    ) throws {
        try [TableKey.parked].withUnsafeBytes { prefix in
            try visit(prefix: prefix) { key, value in
                guard key.count > TableKey.rowPrefixByteCount, value.count >= 8,
                    let recordKey = RecordKey(
                        reading: key.part(TableKey.rowPrefixByteCount..<key.count))
                else {
                    throw StoreError(
                        .damaged, "The entry of a parked record can't be read. Run rebuild.")
                }
                let entity = EntityNumber(UInt16(key[1]) << 8 | UInt16(key[2]))
                return try body(
                    RecordPlace(entity: entity, key: recordKey), value.part(0..<8).sequence,
                    String(decoding: value.part(8..<value.count), as: UTF8.self))
            }
        }
    }
}
