package import BackstitchCore
import LMDB

/// The records that changed since a moment, as they were then: how the tables of that moment differ
/// from those of now.
///
/// Made from the log: one pass over what came since finds the records, one over what was before folds
/// them. Lives as long as one read, on its thread.
package final class PastRows {
    /// A record that changed since.
    package struct Record {
        /// The stored record key.
        package let key: [UInt8]
        /// Where its row of then lies, as a baseline has it; nil if it had none.
        fileprivate let range: Range<Int>?
    }

    /// An entry of a table of then.
    @safe
    package struct Entry {
        package let key: [UInt8]
        package let value: UnsafeRawBufferPointer
    }

    /// The last operation of the moment.
    package let sequence: UInt64
    private let bytes: ByteBuffer
    /// By entity, in the order of their keys.
    private let records: [EntityNumber: [Record]]
    /// Entries by the prefix of their table; the same ones are asked for again and again.
    private var entries: [[UInt8]: [Entry]] = [:]

    package init(_ reader: TableReader, at sequence: UInt64) throws {
        self.sequence = sequence
        var positions: [StoredRecordID: Int] = [:]
        try reader.log.visit(from: sequence + 1) { operation in
            let place = StoredRecordID(entity: operation.entity, key: try operation.key)
            if positions[place] == nil { positions[place] = positions.count }
            return true
        }
        let rows = try Self.rows(of: positions, reader, through: sequence)
        var buffer = ByteBuffer(capacity: 4096)
        var records: [EntityNumber: [Record]] = [:]
        for (place, position) in positions {
            let start = buffer.count
            rows[position]?.append(to: &buffer)
            records[place.entity, default: []].append(
                Record(
                    key: place.key.bytes,
                    range: rows[position] == nil ? nil : start..<buffer.count))
        }
        self.records = records.mapValues { records in
            records.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        }
        bytes = buffer
    }

    private static func rows(
        of positions: [StoredRecordID: Int], _ reader: TableReader, through sequence: UInt64
    ) throws -> [FoldedRow?] {
        var rows = [FoldedRow?](repeating: nil, count: positions.count)
        guard !positions.isEmpty else { return rows }
        var folder = RowFolder()
        try reader.log.visit(from: 1) { operation in
            guard operation.sequence <= sequence else { return false }
            let place = StoredRecordID(entity: operation.entity, key: try operation.key)
            if let position = positions[place] { try folder.fold(operation, into: &rows[position]) }
            return true
        }
        return rows
    }

    // MARK: Records

    /// The record with a stored key; nil if it did not change since.
    package func record(_ entity: EntityNumber, _ key: UnsafeRawBufferPointer) -> Record? {
        guard let records = records[entity] else { return nil }
        var low = 0
        var high = records.count
        while low < high {
            let middle = (low + high) / 2
            if unsafe key.order(records[middle].key) > 0 { low = middle + 1 } else { high = middle }
        }
        guard low < records.count, unsafe key.holdsSameBytes(as: records[low].key) else {
            return nil
        }
        return records[low]
    }

    /// The row of then; nil if there was none.
    package func row(of record: Record) -> RowView? { baseline(of: record)?.row }

    private func baseline(of record: Record) -> BaselineView? {
        record.range.flatMap { unsafe BaselineView(bytes.bytes.part($0)) }
    }

    // MARK: Entries

    /// The entries of then that records which changed since had in a table, in the order of their
    /// keys: of one entity and one attribute, as far as the prefix says.
    package func entries(startingWith prefix: UnsafeRawBufferPointer, _ catalog: CatalogSnapshot)
        throws
        -> [Entry]
    {
        let name = unsafe Array(prefix.prefix(TableKey.indexPrefixByteCount))
        let isOfIndex = [TableKey.indexes, TableKey.inverses, TableKey.compounds]
            .contains(name.first ?? 0)
        let table = isOfIndex ? name : Array(name.prefix(TableKey.rowPrefixByteCount))
        if let known = entries[table] { return known }
        let made = try make(table, catalog)
        entries[table] = made
        return made
    }

    private func make(_ prefix: [UInt8], _ catalog: CatalogSnapshot) throws -> [Entry] {
        var made: [Entry] = []
        let isOfOne = prefix.count >= TableKey.rowPrefixByteCount
        for (entity, records) in records {
            if isOfOne, EntityNumber(prefix.bigEndian(at: 1)) != entity { continue }
            for record in records {
                guard let baseline = baseline(of: record) else { continue }
                if let entry = try entry(of: baseline, record, entity, prefix, catalog) {
                    made.append(entry)
                }
            }
        }
        return made.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    private func entry(
        of baseline: BaselineView, _ record: Record, _ entity: EntityNumber, _ prefix: [UInt8],
        _ catalog: CatalogSnapshot
    ) throws -> Entry? {
        let row = baseline.row
        let empty = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        switch prefix[0] {
        case TableKey.rows: return unsafe Entry(key: prefix + record.key, value: row.bytes)
        case TableKey.unreadable where row.flags.contains(.isUnreadable):
            return unsafe Entry(key: prefix + record.key, value: empty)
        case TableKey.parked:
            let start = [prefix[0]] + entity.rawValue.bigEndianBytes
            return unsafe baseline.parkBytes.map {
                unsafe Entry(key: start + record.key, value: $0)
            }
        case TableKey.indexes, TableKey.inverses:
            guard let table = catalog.table(entity), let fields = row.fields,
                let attribute = table.attribute(
                    FieldID(UInt16(prefix[3]) << 8 | UInt16(prefix[4])))
            else { return nil }
            let value = try fields.value(of: attribute.field)
            var key = ByteBuffer(capacity: 600)
            let isThere = unsafe record.key.withUnsafeBytes { recordKey in
                unsafe prefix[0] == TableKey.indexes
                    ? TableKey.appendIndex(of: table, attribute, value, recordKey, to: &key)
                    : TableKey.appendInverse(of: table, attribute, value, recordKey, to: &key)
            }
            return unsafe isThere ? Entry(key: key.array, value: empty) : nil
        case TableKey.compounds:
            guard let table = catalog.table(entity), let fields = row.fields,
                let index = table.index(UInt16(prefix[3]) << 8 | UInt16(prefix[4]))
            else { return nil }
            var key = ByteBuffer(capacity: 600)
            try unsafe record.key.withUnsafeBytes { recordKey in
                try unsafe TableKey.appendCompound(of: table, index, recordKey, to: &key) {
                    try fields.value(of: $0)
                }
            }
            return unsafe Entry(key: key.array, value: empty)
        default: return nil
        }
    }
}

extension RowFolder {
    /// Applies the next operation of a record to its row, and says which one does not fit.
    package mutating func fold(_ operation: OperationView, into row: inout FoldedRow?) throws {
        do {
            try apply(operation, to: &row)
        } catch let contradiction as RowContradiction {
            throw StoreError(
                .damaged,
                "Operation \(operation.sequence) \(contradiction.what): the log is damaged. Run "
                    + "verify.")
        }
    }
}
