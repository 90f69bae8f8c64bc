package import BackstitchCore
import BackstitchLog

/// An export of the records of one moment.
package struct RecordExport {
    /// The names of the entities; nil for all.
    private let entities: [String]?
    /// Where an earlier export ended.
    private let place: RecordID?
    /// The zone whose records are written; nil for all.
    private let zone: RecordID.Zone?

    /// The bytes of lines that are collected before they are handed on.
    private static let partBytes = 1 << 16

    package init(entities: [String]?, place: RecordID?, zone: RecordID.Zone? = nil) {
        self.entities = entities
        self.place = place
        self.zone = zone
    }

    /// - Returns: the number of records.
    package func run(
        _ transaction: borrowing ReadTransaction, _ progress: (Int) -> Void,
        to write: ([UInt8]) throws -> Void
    ) throws -> Int {
        var buffer = ByteBuffer(capacity: Self.partBytes)
        var count = 0
        for table in try tables(transaction.reader) {
            let last = place.flatMap { $0.entity == table.name ? $0.key : nil }
            let first = zone.map { RecordKey.first(in: $0.slot) }
            try transaction.forEachRecord(of: table.name, from: Self.later(last, first)) { record in
                if let zone, record.id.zone != zone { return false }
                if record.id.key == last { return true }
                RecordLine(entity: record.id.entity, key: record.id.key, values: record.values)
                    .write(into: &buffer)
                count += 1
                if buffer.count >= Self.partBytes {
                    try write(unsafe Array(buffer.bytes))
                    buffer.removeAll()
                    progress(count)
                }
                return true
            }
        }
        if buffer.count > 0 { try write(unsafe Array(buffer.bytes)) }
        return count
    }

    /// The later one of two keys, where there are any.
    private static func later(_ one: RecordKey?, _ other: RecordKey?) -> RecordKey? {
        guard let one, let other else { return one ?? other }
        return max(one, other)
    }

    private func tables(_ reader: TableReader) throws -> [EntityTable] {
        var tables = reader.catalog.tables
        if let entities {
            let chosen = Set(try entities.map { try reader.table(named: $0).number })
            tables = tables.filter { chosen.contains($0.number) }
        }
        if let place {
            let number = try reader.table(named: place.entity).number.rawValue
            tables = tables.filter { $0.number.rawValue >= number }
        }
        return tables
    }
}
