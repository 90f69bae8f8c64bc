public import BackstitchCore
package import BackstitchLog

extension RecordReading where Self: ~Copyable {
    /// Reads a record without its Swift type, or returns nil if it does not exist.
    ///
    /// - Parameter includesDeleted: Whether to include a record that was deleted here if its delete
    ///   is not pushed yet.
    /// - Throws: `unknownEntity`; `damaged` if the row can't be read.
    public func record(
        _ id: RecordID, includesDeleted: Bool = false
    ) throws -> DynamicRecord? {
        let table = try reader.table(named: id.entity)
        reader.footprint?.noteSyncState()
        guard let row = try reader.row(table.number, id.key), includesDeleted || !row.isDeleted
        else { return nil }
        return try DynamicRecord(row, key: id.key, table: table)
    }

    /// Reads a record of the store's own zone without its Swift type, or returns nil if it does not
    /// exist.
    ///
    /// - Parameters:
    ///   - name: The record's name as the service spells it; a UUID in upper case.
    ///   - includesDeleted: Whether to include a record that was deleted here if its delete is not
    ///     pushed yet.
    /// - Throws: `unknownEntity`; `damaged` if the row can't be read.
    public func record(
        _ name: String, of entity: String, includesDeleted: Bool = false
    ) throws -> DynamicRecord? {
        try record(RecordID(entity: entity, name: name), includesDeleted: includesDeleted)
    }

    /// Visits the records of an entity in the order of their keys, one at a time.
    ///
    /// - Parameters:
    ///   - entity: The entity's name.
    ///   - start: Where to begin: the first record at or after this key; nil for the first of all.
    ///   - limit: The most records to visit.
    ///   - includesDeleted: Whether to include records that were deleted here if their deletes are
    ///     not pushed yet.
    ///   - body: Gets a record; returns whether to go on.
    /// - Throws: `unknownEntity`, `damaged`, or what the closure throws.
    public func forEachRecord(
        of entity: String, from start: RecordKey? = nil, limit: Int = .max,
        includesDeleted: Bool = false, _ body: (DynamicRecord) throws -> Bool
    ) throws {
        let table = try reader.table(named: entity)
        var left = limit
        guard left > 0 else { return }
        reader.footprint?.noteSyncState()
        try unsafe reader.visitStoredRows(of: table.number, from: start) { bytes, row in
            if row.isDeleted, !includesDeleted { return true }
            guard let key = unsafe RecordKey(reading: bytes) else {
                throw StoreError(.damaged, "The key of a row can't be read. Run rebuild.")
            }
            left -= 1
            return try body(try DynamicRecord(row, key: key, table: table)) && left > 0
        }
    }

    /// Reads the records of an entity in the order of their keys.
    ///
    /// - Parameters:
    ///   - entity: The entity's name.
    ///   - start: Where to begin: the first record at or after this key; nil for the first of all.
    ///   - limit: The most records to read.
    ///   - includesDeleted: Whether to include records that were deleted here if their deletes are
    ///     not pushed yet.
    /// - Throws: `unknownEntity`; `damaged` if a row can't be read.
    public func records(
        of entity: String, from start: RecordKey? = nil, limit: Int,
        includesDeleted: Bool = false
    ) throws -> [DynamicRecord] {
        var records: [DynamicRecord] = []
        try forEachRecord(
            of: entity, from: start, limit: limit, includesDeleted: includesDeleted
        ) { record in
            records.append(record)
            return true
        }
        return records
    }

    /// The number of records of an entity, without deleted ones.
    ///
    /// - Throws: `unknownEntity`.
    /// - Complexity: O(1), but O(*n*) in the entity's records for a past state, and if another
    ///   version of the program wrote last.
    public func count(of entity: String) throws -> Int {
        try RecordScan(reader).count(reader.table(named: entity).number).live
    }
}

extension TableReader {
    /// The table of an entity of the catalog by name.
    package func table(named name: String) throws -> EntityTable {
        guard let table = catalog.table(named: name) else {
            let known = catalog.tables.map(\.name).sorted().joined(separator: ", ")
            throw StoreError(
                .unknownEntity,
                "The store has no entity '\(name)'. It has: \(known.isEmpty ? "none" : known).")
        }
        return table
    }
}
