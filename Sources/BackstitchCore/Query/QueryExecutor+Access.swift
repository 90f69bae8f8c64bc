extension QueryExecutor {
    /// Visits the rows that match, in the order of the access.
    ///
    /// - Parameters:
    ///   - needsBody: Whether rows are read even where no condition asks for them.
    ///   - visit: Gets the value part of the index key, or no bytes without an index, the record
    ///     key, and the packed fields if they were read.
    static func matches<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, on source: borrowing Source, needsBody: Bool,
        _ visit: (
            UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer?
        ) throws -> Bool
    ) throws {
        let entity = plan.entity.number
        let noBytes = UnsafeRawBufferPointer(start: nil, count: 0)
        switch plan.access {
        case .nothing: return
        case .scan(let isReversed):
            try source.visitRows(of: entity, reversed: isReversed) { key, body in
                guard try holds(plan, key: key, body: body) else { return true }
                return try visit(noBytes, key, body)
            }
        case .records(let keys):
            for key in keys {
                let goesOn = try key.bytes.withUnsafeBytes { key in
                    try source.withRow(of: entity, key: key) { body in
                        guard try holds(plan, key: key, body: body) else { return true }
                        return try visit(noBytes, key, body)
                    } ?? true
                }
                if !goesOn { return }
            }
        case .index(let attribute, let ranges, let isReversed):
            var goesOn = true
            for at in ranges.indices where goesOn {
                let range = isReversed ? ranges[ranges.count - 1 - at] : ranges[at]
                try source.visitIndex(
                    of: entity, attribute: attribute, within: range, reversed: isReversed
                ) { value, key in
                    goesOn = try match(plan, on: source, value, key, needsBody: needsBody, visit)
                    return goesOn
                }
            }
        case .referrers(let attribute, let targets):
            var goesOn = true
            for target in targets where goesOn {
                try source.visitReferrers(of: entity, attribute: attribute, target: target) { key in
                    goesOn = try match(plan, on: source, noBytes, key, needsBody: needsBody, visit)
                    return goesOn
                }
            }
        }
    }

    /// Reads the row behind an index entry where that is needed, and visits it if it matches.
    private static func match<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, on source: borrowing Source, _ value: UnsafeRawBufferPointer,
        _ key: UnsafeRawBufferPointer, needsBody: Bool,
        _ visit: (
            UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer?
        ) throws -> Bool
    ) throws -> Bool {
        guard needsBody || plan.test != nil else { return try visit(value, key, nil) }
        return try source.withRow(of: plan.entity.number, key: key) { body in
            guard try holds(plan, key: key, body: body) else { return true }
            return try visit(value, key, body)
        } ?? true
    }

    @inline(__always)
    private static func holds(
        _ plan: QueryPlan, key: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) throws -> Bool {
        guard let test = plan.test else { return true }
        guard let fields = PackedFields(body) else { throw damaged }
        do {
            return try test.holds(for: RowBytes(key: key, fields: fields))
        } catch is FieldError {
            throw damaged
        }
    }
}
