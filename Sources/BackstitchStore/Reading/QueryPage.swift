public import BackstitchCore
import BackstitchLog

/// A part of a query's answer, in its order.
public struct QueryPage<Row: Sendable>: Sendable {
    /// The records of the page.
    public let rows: [Row]
    /// Where the next page begins; nil if this one is the last.
    public let next: QueryCursor?
}

extension QueryPage: Equatable where Row: Equatable {}

extension RecordReading where Self: ~Copyable {
    /// A page of the records that a query matches, in its order.
    ///
    /// Use it for answers that are too large to hold or to read in one transaction: each page may
    /// be read in a transaction of its own. A record that matches all the time, with unchanged sort
    /// values, is returned exactly once, whatever is written between the pages. Records that come,
    /// go or move in the order meanwhile may be returned or not. Offset and limit of the query
    /// count over all pages.
    ///
    /// A query that is sorted by the record key or by an index continues where the previous page
    /// ended. Any other order reads the whole answer again for each page.
    ///
    /// - Parameters:
    ///   - cursor: ``QueryPage/next`` of the previous page; nil for the first page.
    ///   - count: The most records of the page, at least one.
    /// - Throws: `invalidQuery` for the cursor of another query, for a count below one, and if the
    ///   query can't be answered.
    public func page<Model: Entity>(
        _ query: Query<Model>, after cursor: QueryCursor? = nil, count: Int
    ) throws -> QueryPage<Model> {
        try reader.page(query, types.binding(of: Model.self), after: cursor, count: count)
    }

    /// A page of the records that a query by names matches, in its order.
    ///
    /// Everything is as for typed queries.
    public func page(
        _ query: RecordQuery, after cursor: QueryCursor? = nil, count: Int
    ) throws -> QueryPage<DynamicRecord> {
        try reader.page(query, after: cursor, count: count)
    }
}

extension TableReader {
    /// What queries must know of an entity.
    package func entityBinding(_ number: EntityNumber) throws -> EntityBinding {
        guard let table = catalog.table(number) else {
            throw StoreError(.unknownEntity, "An entity is not in the store's catalog.")
        }
        return catalog.binding(of: table)
    }

    fileprivate func page<Model: Entity>(
        _ query: Query<Model>, _ binding: TypeBinding, after cursor: QueryCursor?, count: Int
    ) throws -> QueryPage<Model> {
        var rows: [Model] = []
        let next = try unsafe QueryExecutor.page(
            of: query.lowered(), in: entityBinding(binding.number), after: cursor, count: count,
            on: self
        ) { keyBytes, body in
            let id = unsafe EntityID<Model>(key: try RecordKey.stored(keyBytes))
            if let row = try unsafe binding.decodeIfReadable(body, id, self) { rows.append(row) }
        }
        return QueryPage(rows: rows, next: next)
    }

    fileprivate func page(
        _ query: RecordQuery, after cursor: QueryCursor?, count: Int
    ) throws -> QueryPage<DynamicRecord> {
        let table = try table(named: query.entity)
        var rows: [DynamicRecord] = []
        let next = try unsafe QueryExecutor.page(
            of: query, in: catalog.binding(of: table), after: cursor, count: count, on: self
        ) { keyBytes, _ in
            unsafe rows.append(try dynamicRecord(RecordKey.stored(keyBytes), in: table))
        }
        return QueryPage(rows: rows, next: next)
    }

    func dynamicRecord(_ key: RecordKey, in table: EntityTable) throws -> DynamicRecord {
        footprint?.noteSyncState()
        guard let row = try row(table.number, key) else {
            throw StoreError(.damaged, "An index entry has no row. Run rebuild.")
        }
        return try DynamicRecord(row, key: key, table: table)
    }
}

extension RecordKey {
    /// The key that stored bytes spell.
    @usableFromInline
    static func stored(_ bytes: UnsafeRawBufferPointer) throws -> RecordKey {
        guard let key = unsafe RecordKey(reading: bytes) else {
            throw StoreError(.damaged, "A row's key can't be read. Run rebuild.")
        }
        return key
    }
}
