extension QueryExecutor {
    /// Visits a page of the answer of a query.
    ///
    /// - Parameters:
    ///   - cursor: Where the page begins; nil for the start of the answer.
    ///   - count: The most records of the page, at least one.
    ///   - visit: Gets the stored record key and the packed fields, valid only inside it.
    /// - Returns: where the next page begins; nil after the last record.
    /// - Throws: ``QueryError`` with code `foreignCursor` or `negativeCount`, or as ``run``.
    package static func page<Source: RowSource & ~Copyable>(
        of query: RecordQuery, in entity: EntityBinding, after cursor: QueryCursor?, count: Int,
        on source: borrowing Source,
        visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Void
    ) throws -> QueryCursor? {
        guard count > 0 else {
            throw QueryError(
                .negativeCount,
                "A page of \(query.entity) has the size \(count). Ask for one record or more.")
        }
        let position = try cursor.map { try query.position(of: $0, in: entity) }
        let given = cursor?.count ?? 0
        let remaining = query.limitCount.map { max(0, $0 - given) } ?? .max
        let size = min(count, remaining)
        // One record more tells whether there is another page.
        let plan = try QueryPlan(
            query.limit(size < .max ? size + 1 : size), in: entity, on: source
        ).page(
            after: position, offset: cursor == nil ? query.offsetCount : 0,
            limit: remaining == 0 ? 0 : size < .max ? size + 1 : size)
        var last: QueryPosition?
        var visited = 0
        var hasMore = false
        try unsafe run(plan, on: source) { key, body in
            guard visited < size else {
                hasMore = true
                return false
            }
            visited += 1
            if visited == size {
                guard let fields = unsafe PackedFields(body) else { throw damaged }
                last = try RowContext.with(source, isNeeded: plan.sortsByOthers) { context in
                    try unsafe QueryPosition(behind: key, fields, steps: plan.steps, context)
                }
            }
            try unsafe visit(key, body)
            return true
        }
        guard hasMore, visited < remaining, let last else { return nil }
        return QueryCursor(
            position: last, fingerprint: query.fingerprint(in: entity), count: given + visited)
    }
}
