package import BackstitchCore
package import LMDB

/// Reads the log and the tables within one transaction, whose lifetime it must not outlive.
@usableFromInline
package struct TableReader {
    package let access: Access
    package let databases: Databases
    package let catalog: CatalogSnapshot
    /// What was different at the moment that is read; nil for the present.
    package let past: PastRows?
    /// Whether the checksums of rows are compared: if what they say is written again.
    package let checksRows: Bool
    /// What notes the reads; nil if nothing does. Whoever reads keeps it.
    private let noting: Unmanaged<ReadFootprint>?

    package init(
        access: Access, databases: Databases, catalog: CatalogSnapshot, past: PastRows? = nil,
        checksRows: Bool = false, footprint: ReadFootprint? = nil
    ) {
        self.checksRows = checksRows
        noting = footprint.map { Unmanaged.passUnretained($0) }
        self.access = access
        self.databases = databases
        self.catalog = catalog
        self.past = past
    }

    /// What notes the reads; nil if nobody wants to know.
    package var footprint: ReadFootprint? { noting?.takeUnretainedValue() }

    /// The same reader for what is noted already, or can't change.
    package var unnoted: TableReader {
        TableReader(
            access: access, databases: databases, catalog: catalog, past: past,
            checksRows: checksRows)
    }

    var storedEntries: StoredEntries {
        StoredEntries(access: access, database: databases.tables)
    }

    var pastEntries: PastEntries? {
        past.map { PastEntries(past: $0, stored: storedEntries, catalog: catalog) }
    }

    // MARK: Rows

    /// The row of a record, tombstones included.
    package func row(_ entity: EntityNumber, _ key: RecordKey) throws -> RowView? {
        if noting != nil { key.bytes.withUnsafeBytes { footprint?.note($0, of: entity) } }
        return try TableKey.withRow(entity, key) { try row(at: $0) }
    }

    package func row(_ entity: EntityNumber, keyBytes: UnsafeRawBufferPointer) throws -> RowView? {
        footprint?.note(keyBytes, of: entity)
        return try TableKey.withRow(entity, keyBytes: keyBytes) { try row(at: $0) }
    }

    private func row(at key: UnsafeRawBufferPointer) throws -> RowView? {
        if let past, let record = past.record(at: key) { return past.row(of: record) }
        guard let bytes = try access.get(key, in: databases.tables) else { return nil }
        guard let row = RowView(bytes), !checksRows || row.isIntact(at: key) else {
            throw Self.damagedRow
        }
        return row
    }

    /// Visits the entries of a table whose keys start with a prefix, in key order.
    ///
    /// - Parameter visit: Gets the key and the value; returns whether to go on.
    package func visit(
        prefix: UnsafeRawBufferPointer, from start: UnsafeRawBufferPointer? = nil,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        footprint?.noteEverything()
        if let pastEntries {
            return try pastEntries.visit(
                prefix: prefix, from: Array(start ?? prefix), to: Array(prefix).next,
                reversed: false, visit)
        }
        try access.withCursor(in: databases.tables) { cursor in
            var isThere = try cursor.seek(atOrAfter: start ?? prefix)
            while isThere {
                guard cursor.key.begins(with: prefix) else { return }
                guard try visit(cursor.key, cursor.value) else { return }
                isThere = try cursor.next()
            }
        }
    }

    /// Visits the rows of an entity, tombstones included, in key order, and compares their checksums.
    package func visitStoredRows(
        of entity: EntityNumber, from start: RecordKey? = nil,
        _ visit: (_ key: UnsafeRawBufferPointer, _ row: RowView) throws -> Bool
    ) throws {
        var prefix = ByteBuffer(capacity: 8)
        prefix.append(TableKey.rows)
        prefix.append(big: entity.rawValue)
        var from = ByteBuffer()
        from.append(prefix.bytes)
        if let start { from.append(start) }
        footprint?.noteAll(of: entity)
        try unnoted.visit(prefix: prefix.bytes, from: from.bytes) { key, value in
            guard let row = RowView(value), row.isIntact(at: key) else { throw Self.damagedRow }
            let keyBytes = key.part(TableKey.rowPrefixByteCount..<key.count)
            return try visit(keyBytes, row)
        }
    }

    // MARK: Log and meta

    /// The log, as far as it had come at the moment that is read.
    package var log: LogReader {
        footprint?.noteEverything()
        return LogReader(
            access: access, database: databases.log, lastVisible: past?.sequence ?? .max)
    }

    package var meta: MetaReader {
        footprint?.noteEverything()
        return MetaReader(access: access, database: databases.meta)
    }

    // MARK: The past

    /// A reader of the moment after an operation.
    ///
    /// - Throws: `notInLog` if the log has not come to it, or does not tell any more.
    package func at(_ sequence: UInt64) throws -> TableReader {
        let last = try log.head
        guard sequence <= last else {
            throw StoreError(
                .notInLog,
                "There is no operation \(sequence) yet: the log ends with \(last). Read at that or "
                    + "before.")
        }
        let oldest = try LogBounds(self).compaction.through
        guard sequence >= oldest else {
            throw StoreError(
                .notInLog,
                "The state after operation \(sequence) was compacted. The oldest that can be read "
                    + "is the one after operation \(oldest).")
        }
        guard sequence < last else { return self }
        return TableReader(
            access: access, databases: databases, catalog: catalog,
            past: try PastRows(self, at: sequence))
    }
}
