import BackstitchCore
import BackstitchLog
import LMDB

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

        var keyBytes: UnsafeRawBufferPointer {
            unsafe UnsafeRawBufferPointer(start: key, count: Int(keyCount))
        }

        var rowBytes: UnsafeRawBufferPointer {
            unsafe UnsafeRawBufferPointer(start: row, count: Int(rowCount))
        }

        func prefetch() {
            unsafe keyBytes.prefetched(64)
            unsafe rowBytes.prefetched(384)
        }
    }

    /// The most operations that have a place.
    private static let operationsMax = 1 << 20
    /// How many rows may be read, and how many operations may have a place, for each row that is found.
    private static let (rowsPerFound, operationsPerFound) = (8, 8)
    /// Rows stand anywhere in the memory, so that they are fetched so many operations ahead.
    private static let distance = 16

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
    func visit(
        _ body: (_ row: RowView, _ name: RecordName, _ table: EntityTable) throws -> Void
    ) throws {
        var table: EntityTable?
        for index in places.indices {
            if index + Self.distance < places.count { places[index + Self.distance]?.prefetch() }
            guard let place = places[index] else { continue }
            if table?.number != place.entity { table = reader.catalog.table(place.entity) }
            guard let table, let row = unsafe RowView(place.rowBytes),
                let key = unsafe RecordKey(reading: place.keyBytes)
            else { continue }
            try body(row, key.name, table)
        }
    }
}
