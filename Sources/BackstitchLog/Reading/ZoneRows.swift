package import BackstitchCore

/// The rows of the records of single zones.
package struct ZoneRows {
    private let reader: TableReader

    package init(_ reader: TableReader) { self.reader = reader }

    /// Visits the rows of an entity's records of a zone, tombstones included, in key order, and compares their
    /// checksums.
    package func visit(
        of entity: EntityNumber, in slot: UInt8, from start: RecordKey? = nil,
        _ visit: (_ key: UnsafeRawBufferPointer, _ row: RowView) throws -> Bool
    ) throws {
        try unsafe reader.visitStoredRows(of: entity, from: start ?? .first(in: slot)) { key, row in
            guard unsafe key.first == slot else { return false }
            return try unsafe visit(key, row)
        }
    }

    /// The slots of the zones that have records here, tombstones included, in ascending order.
    ///
    /// - Complexity: O(log *n*) for each entity and each slot that it has.
    package func slots() throws -> [UInt8] {
        var slots: Set<UInt8> = []
        for table in reader.catalog.tables {
            var next: UInt8? = 0
            while let start = next {
                next = nil
                try unsafe reader.visitStoredRows(of: table.number, from: .first(in: start)) {
                    key, _ in
                    guard let slot = unsafe key.first else { return false }
                    slots.insert(slot)
                    next = slot < .max ? slot + 1 : nil
                    return false
                }
            }
        }
        return slots.sorted()
    }
}
