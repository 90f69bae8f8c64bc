package import BackstitchCore
package import LMDB

/// Reads the log and the tables within one transaction, whose lifetime it must not outlive.
@safe @usableFromInline
package struct TableReader {
    package let access: Access
    package let databases: Databases
    package let catalog: CatalogSnapshot
    /// What was different at the moment that is read; nil for the present.
    package let past: PastRows?
    /// Whether the checksums of rows are compared: if what they say is written again.
    package let checksRows: Bool
    /// The most threads that a read of all rows takes, its own included.
    package let threadsMax: Int
    /// What notes the reads; nil if nothing does. Whoever reads keeps it.
    private let noting: Unmanaged<ReadFootprint>?

    package init(
        access: Access, databases: Databases, catalog: CatalogSnapshot, past: PastRows? = nil,
        checksRows: Bool = false, threadsMax: Int = 1, footprint: ReadFootprint? = nil
    ) {
        self.checksRows = checksRows
        self.threadsMax = threadsMax
        unsafe noting = footprint.map { unsafe Unmanaged.passUnretained($0) }
        self.access = access
        self.databases = databases
        self.catalog = catalog
        self.past = past
    }

    /// The object that notes the reads; nil if reads are not noted.
    package var footprint: ReadFootprint? { unsafe noting?.takeUnretainedValue() }

    /// The same reader for what is noted already, or can't change.
    package var unnoted: TableReader {
        TableReader(
            access: access, databases: databases, catalog: catalog, past: past,
            checksRows: checksRows, threadsMax: threadsMax)
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
        try unsafe key.withStored { try unsafe row(entity, keyBytes: $0) }
    }

    package func row(_ entity: EntityNumber, keyBytes: UnsafeRawBufferPointer) throws -> RowView? {
        unsafe footprint?.note(keyBytes, of: entity)
        if let past, let record = unsafe past.record(entity, keyBytes) {
            return past.row(of: record)
        }
        guard unsafe !keyBytes.isEmpty, let rows = access.rows(of: entity),
            let bytes = try unsafe access.get(keyBytes, in: rows)?.prefetched(384)
        else { return nil }
        guard let row = unsafe RowView(bytes),
            unsafe !checksRows || row.isIntact(of: entity, keyBytes)
        else { throw StoreError.damagedRow }
        return row
    }

    /// Visits the entries of a table whose keys start with a prefix, in key order.
    ///
    /// - Parameters:
    ///   - ahead: May be told the keys that are visited next: their number, and each by its place.
    ///   - visit: Gets the key and the value; returns whether to go on.
    package func visit(
        prefix: UnsafeRawBufferPointer, from start: UnsafeRawBufferPointer? = nil,
        ahead: ((_ count: Int, _ key: (Int) -> UnsafeRawBufferPointer) -> Void)? = nil,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        footprint?.noteEverything()
        if let pastEntries {
            return try unsafe pastEntries.visit(
                prefix: prefix, from: Array(start ?? prefix), to: Array(prefix).next,
                reversed: false, visit)
        }
        try unsafe Array(prefix).next.withUnsafeBytes { end in
            try unsafe storedEntries.visit(
                from: start ?? prefix, to: end, reversed: false, ahead: ahead, visit)
        }
    }

    /// Visits the rows of an entity, tombstones included, in key order, and compares their checksums.
    package func visitStoredRows(
        of entity: EntityNumber, from start: RecordKey? = nil,
        _ visit: (_ key: UnsafeRawBufferPointer, _ row: RowView) throws -> Bool
    ) throws {
        footprint?.noteAll(of: entity)
        try unsafe unnoted.visitRowEntries(
            of: entity, from: start?.bytes ?? [], to: nil, reversed: false
        ) { key, value in
            guard let row = unsafe RowView(value), unsafe row.isIntact(of: entity, key) else {
                throw StoreError.damagedRow
            }
            return try unsafe visit(key, row)
        }
    }

    /// Visits the rows of an entity from a record key up to but without another, either way round.
    ///
    /// - Parameter visit: Gets the record key and the row's bytes.
    func visitRowEntries(
        of entity: EntityNumber, from lower: [UInt8], to upper: [UInt8]?, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        if let pastEntries {
            let prefix = TableKey.rowPrefix(entity)
            let end = upper.map { prefix + $0 } ?? prefix.next
            return try unsafe prefix.withUnsafeBytes { bytes in
                try unsafe pastEntries.visit(
                    prefix: bytes, from: prefix + lower, to: end, reversed: reversed
                ) { try unsafe visit(TableKey.record(of: $0), $1) }
            }
        }
        guard let rows = access.rows(of: entity) else { return }
        try unsafe lower.withUnsafeBytes { lower in
            func visitRows(to end: UnsafeRawBufferPointer?) throws {
                _ = try unsafe StoredEntries.visit(
                    access, in: rows, from: lower, to: end, reversed: reversed,
                    readsAhead: !access.canWrite, visit)
            }
            guard let upper else { return try visitRows(to: nil) }
            try unsafe upper.withUnsafeBytes { try unsafe visitRows(to: $0) }
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
        let oldest = try LogHorizon(self).compaction.through
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
