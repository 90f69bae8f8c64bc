import BackstitchCore
import BackstitchLog

/// The rows with unsynced operations in the order of their last ones: where they stand in the store's map.
///
/// Where much is unsynced, reading all rows one after another is several times as quick as reading the log
/// and looking up each row. It takes 24 bytes of memory for an operation.
struct PendingRows {
    @safe private struct Place {
        let key: UnsafeRawPointer
        let row: UnsafeRawPointer
        let keyCount: UInt16
        let entity: EntityNumber
        let rowCount: UInt32
    }

    /// A row with its record's name and table.
    struct Row {
        let row: RowView
        let name: RecordName
        let table: EntityTable
    }

    /// The most operations that have a place.
    private static let operationsMax = 1 << 20
    /// How many rows may be read, and how many operations may have a place, for each row that is found.
    private static let (rowsPerFound, operationsPerFound) = (8, 8)
    /// Rows stand anywhere in the memory; so many are looked at together, so that it is waited for once.
    private static let rowsAtOnce = 16

    private let reader: TableReader
    /// For each operation the row whose last one it is.
    private let places: [Place?]

    /// Finds the rows; nil if the log is the better way.
    ///
    /// - Parameter first: The first operation that can be unsynced.
    init?(_ reader: TableReader, from first: UInt64) throws {
        guard let tally = try OutboxCounter(reader).stored else { return nil }
        let counts = tally.entities.values
        let found = counts.reduce(0) { $0 + $1.pendingRecords }
        let rows = counts.reduce(0) { $0 + $1.records + $1.tombstones }
        let last = try reader.log.head
        guard found > 0, rows <= Self.rowsPerFound * found, last >= first,
            last - first < UInt64(min(Self.operationsPerFound * found, Self.operationsMax))
        else { return nil }
        var places = [Place?](repeating: nil, count: Int(last - first) + 1)
        for (entity, counts) in tally.entities where counts.pendingRecords > 0 {
            try unsafe reader.visitStoredRows(of: entity) { key, row in
                guard row.isDirty, !row.flags.contains(.isParked),
                    (first...last).contains(row.lastSequence),
                    let keyStart = key.baseAddress,
                    let rowStart = unsafe row.bytes.baseAddress
                else { return true }
                unsafe places[Int(row.lastSequence - first)] = Place(
                    key: keyStart, row: rowStart, keyCount: UInt16(key.count), entity: entity,
                    rowCount: UInt32(row.bytes.count))
                return true
            }
        }
        self.reader = reader
        self.places = places
    }

    /// Gives a closure each row.
    func visit(_ body: (Row) throws -> Void) throws {
        var rows: [Row] = []
        for place in places {
            guard let row = place.flatMap(row) else { continue }
            rows.append(row)
            guard rows.count == Self.rowsAtOnce else { continue }
            for row in rows { try body(row) }
            rows.removeAll(keepingCapacity: true)
        }
        for row in rows { try body(row) }
    }

    private func row(at place: Place) -> Row? {
        let key = unsafe UnsafeRawBufferPointer(start: place.key, count: Int(place.keyCount))
        let bytes = unsafe UnsafeRawBufferPointer(start: place.row, count: Int(place.rowCount))
        guard let row = unsafe RowView(bytes), let key = unsafe RecordKey(reading: key),
            let table = reader.catalog.table(place.entity)
        else { return nil }
        return Row(row: row, name: key.name, table: table)
    }
}
