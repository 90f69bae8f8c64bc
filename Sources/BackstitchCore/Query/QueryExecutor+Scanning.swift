/// A part of a query's answer that was found by looking at some rows of the entity.
package struct QueryScan: Sendable {
    /// The rows that were looked at.
    package internal(set) var examined = 0
    /// Those of them that match; without a sort, no more than asked for.
    package internal(set) var matched = 0
    /// The stored key of the last of them; nil once there are no more.
    package internal(set) var through: [UInt8]?
}

extension QueryExecutor {
    /// Visits what some rows of an entity have of a query's answer, in its order.
    ///
    /// For answers that need a look at every row: a caller that asks for part after part shows at once what
    /// there is, knows how far it is, and can stop. The first of all parts' records are the first of the
    /// answer. Offset and limit of the query don't count.
    ///
    /// - Parameters:
    ///   - through: The last row of the part before; nil to begin.
    ///   - after: The place in the order after which records count; nil for all.
    ///   - count: The most records that are visited. Without a sort, the part ends with the last.
    ///   - goesOn: Asked with the number of rows after each of them.
    ///   - visit: Gets the stored record key, and the record's place in the order.
    /// - Throws: As ``run(_:on:visit:)``.
    /// - Complexity: O(*n* log `count`) in the rows that are looked at.
    package static func scan<Source: RowSource & ~Copyable>(
        _ query: RecordQuery, in entity: EntityBinding, through: [UInt8]?, after: [UInt8]?,
        count: Int, on source: borrowing Source, while goesOn: (Int) -> Bool,
        visit: (_ key: UnsafeRawBufferPointer, _ place: UnsafeRawBufferPointer) throws -> Void
    ) throws -> QueryScan {
        let plan = try QueryPlan(scanning: query, in: entity)
        var range = KeyRange(lower: through.map { $0 + [0] } ?? [], upper: nil)
        if case .scan(let bounds, _) = plan.access { range = bounds.intersection(range) }
        var scan = QueryScan()
        var buffer = SortBuffer(countMax: count, after: after)
        let leading = plan.steps.first?.leading
        var left = plan.steps.isEmpty ? count : .max
        let needsContext = plan.sortsByOthers || plan.test?.needsContext == true
        try RowContext.with(source, isNeeded: needsContext) { context in
            func look(_ runner: ConditionRunner?) throws {
                try unsafe source.visitRows(of: entity.number, within: range, reversed: false) {
                    key, body in
                    scan.examined += 1
                    guard let fields = unsafe PackedFields(body) else { throw damaged }
                    do {
                        let row = unsafe RowBytes(key: key, fields: fields, context: context)
                        if try runner?.holds(for: row) ?? true {
                            left -= 1
                            scan.matched += 1
                            try unsafe buffer.add(
                                key: key, steps: plan.steps[...], leading: leading, fields: fields,
                                context)
                        }
                    } catch is FieldError {
                        throw damaged
                    }
                    guard left > 0, goesOn(scan.examined) else {
                        scan.through = unsafe Array(key)
                        return false
                    }
                    return true
                }
            }
            if let test = plan.test {
                try test.withRunner { try look($0) }
            } else {
                try look(nil)
            }
        }
        try unsafe buffer.visitPlaces(visit)
        return scan
    }
}
