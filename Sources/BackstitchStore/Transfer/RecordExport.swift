import BackstitchCore
import BackstitchLog

/// An export of the records of one moment.
struct RecordExport {
    /// The names of the entities; nil for all.
    let entities: [String]?
    /// Where an earlier export ended.
    let place: RecordID?

    /// The bytes of lines that are collected before they are handed on.
    private static let partBytes = 1 << 16

    /// - Returns: the number of records.
    func run(
        _ transaction: borrowing ReadTransaction, _ progress: (Int) -> Void,
        to write: ([UInt8]) throws -> Void
    ) throws -> Int {
        var buffer = ByteBuffer(capacity: Self.partBytes)
        var count = 0
        for table in try tables(transaction.reader) {
            let start = place.flatMap { $0.entity == table.name ? $0.key : nil }
            try transaction.forEachRecord(of: table.name, from: start) { record in
                if record.id.key == start { return true }
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
