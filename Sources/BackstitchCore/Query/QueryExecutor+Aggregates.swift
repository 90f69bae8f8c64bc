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
        let keys = try attributes.map { try entity.attribute(named: $0) }
        // Checked even if no row matches.
        let first = try aggregates.map { try Accumulator($0, in: entity) }
        var groups: [(key: [UInt8], values: [RecordValue], accumulators: [Accumulator])] = []
        var positions: [[UInt8]: Int] = [:]
        if keys.isEmpty { groups.append(([], [], first)) }
        var scratch = ByteBuffer()
        try visitAnswer(of: query, in: entity, on: source) { body in
            guard let fields = PackedFields(body) else { throw damaged }
            var at = 0
            if !keys.isEmpty {
                scratch.removeAll()
                for key in keys {
                    try key.appendIdentity(of: fields, to: &scratch)
                }
                let bytes = [UInt8](scratch.bytes)
                if let known = positions[bytes] {
                    at = known
                } else {
                    at = groups.count
                    positions[bytes] = at
                    groups.append(
                        (
                            bytes, try keys.map { try $0.value(of: fields) },
                            try aggregates.map { try Accumulator($0, in: entity) }
                        ))
                }
            }
            for accumulator in groups[at].accumulators {
                try accumulator.add(fields, scratch: &scratch)
            }
        }
        groups.sort { $0.key.lexicographicallyPrecedes($1.key) }
        return try groups.map { group in
            RecordQuery.Group(
                keys: group.values, values: try group.accumulators.map { try $0.result() })
        }
    }

    /// Visits the rows of an answer, in its order if that decides which they are.
    private static func visitAnswer<Source: RowSource & ~Copyable>(
        of query: RecordQuery, in entity: EntityBinding, on source: borrowing Source,
        _ visit: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let isWhole = query.limitCount == nil && query.offsetCount == 0
        let query = isWhole ? query.unsorted : query
        let plan = try QueryPlan(query, in: entity, on: source)
        do {
            if isWhole {
                try matches(plan, on: source, needsBody: true) { _, _, body in
                    if let body { try visit(body) }
                    return true
                }
            } else {
                try run(plan, on: source) { _, body in
                    try visit(body)
                    return true
                }
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
                try run(plan, on: source) { _, body in
                    guard let fields = PackedFields(body) else { throw damaged }
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
