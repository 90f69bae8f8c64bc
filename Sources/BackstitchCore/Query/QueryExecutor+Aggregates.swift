extension QueryExecutor {
    /// Calculates aggregates over the answer of a query, in groups.
    ///
    /// - Parameter attributes: What the records of a group have in common; with none there is one
    ///   group, even if no record matches.
    /// - Returns: the groups in the order of their values.
    /// - Throws: ``QueryError`` for unknown attributes, sums of what is no number, minima and maxima
    ///   of what has no order, and sums that leave their type.
    package static func groups<Source: RowSource & ~Copyable>(
        of query: RecordQuery, by attributes: [String], _ aggregates: [RecordQuery.Aggregate],
        in entity: EntityBinding, on source: borrowing Source
    ) throws -> [RecordQuery.Group] {
        if attributes.isEmpty {
            if let values = try shortcut(query, aggregates, in: entity, on: source) {
                return [RecordQuery.Group(keys: [], values: values)]
            }
        }
        // Made even if no row matches: it checks the names.
        var grouping = try Grouping(by: attributes, aggregates, in: entity)
        try add(query, in: entity, on: source, to: &grouping)
        return try grouping.result()
    }

    /// Adds the rows of an answer to groups, in its order if that decides which they are.
    private static func add<Source: RowSource & ~Copyable>(
        _ query: RecordQuery, in entity: EntityBinding, on source: borrowing Source,
        to grouping: inout Grouping
    ) throws {
        let isWhole = query.limitCount == nil && query.offsetCount == 0
        let plan = try QueryPlan(isWhole ? query.unsorted : query, in: entity, on: source)
        var scratch = ByteBuffer()
        do {
            guard isWhole else {
                return try unsafe run(plan, on: source) { _, body in
                    try unsafe grouping.add(body, scratch: &scratch)
                    return true
                }
            }
            if try plan.addAlongside(on: source, to: &grouping) { return }
            try unsafe matches(plan, on: source, needsBody: true) { _, _, body in
                if let body = unsafe body { try unsafe grouping.add(body, scratch: &scratch) }
                return true
            }
        } catch is FieldError {
            throw damaged
        }
    }

    /// The aggregates, if each is a number of records or one end of an index.
    private static func shortcut<Source: RowSource & ~Copyable>(
        _ query: RecordQuery, _ aggregates: [RecordQuery.Aggregate], in entity: EntityBinding,
        on source: borrowing Source
    ) throws -> [RecordValue]? {
        let isWhole = query.limitCount == nil && query.offsetCount == 0
        var values: [RecordValue] = []
        for aggregate in aggregates {
            switch (aggregate.function, aggregate.attribute) {
            case (.count, nil):
                let plan = try QueryPlan(query, in: entity, needsRows: false, on: source)
                values.append(.int64(Int64(try count(plan, on: source))))
            case (.minimum, let name?), (.maximum, let name?):
                let attribute = try entity.attribute(named: name)
                guard isWhole, attribute.isIndexed else { return nil }
                let ends = query.unsorted
                    .adding(.not(.isNull(.attribute(name))))
                    .adding(SortStep(name, isReversed: aggregate.function == .maximum)).limit(1)
                let plan = try QueryPlan(ends, in: entity)
                // Another access would look at all matches, which one pass does for all aggregates.
                guard plan.ordering != .inMemory || plan.access == .nothing else { return nil }
                var value = RecordValue.null
                try unsafe run(plan, on: source) { _, body in
                    guard let fields = unsafe PackedFields(body) else { throw damaged }
                    value = try attribute.value(of: fields)
                    return false
                }
                values.append(value)
            default:
                return nil
            }
        }
        return values
    }
}
