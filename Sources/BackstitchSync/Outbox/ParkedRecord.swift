public import BackstitchCore
package import BackstitchLog

/// A record with changes that can't be pushed as they are.
public struct ParkedRecord: Hashable, Sendable {
    /// The record.
    public let record: RecordID
    /// The sequence of the operation that parked it.
    public let sequence: UInt64
    /// The code and the words of the service's refusal, or why a conflict was not settled, as the
    /// log has them.
    public let reason: String

    package init(record: RecordID, sequence: UInt64, reason: String) {
        self.record = record
        self.sequence = sequence
        self.reason = reason
    }

    /// The kind of refusal; nil if a conflict parked the record, and for codes that this version
    /// does not know.
    public var code: ServiceError.Code? { ParkReason(reason).code }

    /// The service's words without the code; empty if it had none.
    public var message: String { ParkReason(reason).message }
}

extension ParkedRecord {
    /// Makes records pending again that are parked.
    ///
    /// - Parameter records: nil for all that are parked.
    /// - Returns: the number of those that were.
    static func release(_ records: [ParkedRecord]?, in log: LogWriter) throws -> Int {
        var count = 0
        for record in try records ?? all(log.reader) {
            guard let table = log.catalog.table(named: record.record.entity) else { continue }
            if try log.marks.release(table.number, record.record.key) { count += 1 }
        }
        return count
    }

    /// The parked records, in the order of their entities and keys.
    ///
    /// - Parameter place: The one that is asked for; nil for all.
    package static func all(
        _ reader: TableReader, at place: StoredRecordID? = nil, limit: Int = .max
    ) throws -> [ParkedRecord] {
        var records: [ParkedRecord] = []
        guard limit > 0 else { return records }
        try reader.visitParked { found, sequence, reason in
            guard place == nil || place == found else { return true }
            records.append(
                ParkedRecord(
                    record: RecordID(
                        entity: reader.catalog.table(found.entity)?.name
                            ?? "entity \(found.entity.rawValue)", key: found.key),
                    sequence: sequence, reason: reason.text))
            return records.count < limit
        }
        return records
    }
}
