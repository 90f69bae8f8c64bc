extension QueryExecutor {
    /// Visits the rows that match, in the order of the access.
    ///
    /// - Parameters:
    ///   - part: The rows to look at, where the access looks at all; nil for those of the plan.
    ///   - needsBody: Whether rows are read even if no condition asks for them.
    ///   - visit: Gets the value part of the index key, or no bytes without an index, the record
    ///     key, and the packed fields if they were read.
    static func matches<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, in part: KeyRange? = nil, on source: borrowing Source, needsBody: Bool,
        _ visit: (
            UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer?
        ) throws -> Bool
    ) throws {
        guard let footprint = source.footprint else {
            return try unsafe unnotedMatches(
                plan, in: part, on: source, needsBody: needsBody, visit)
        }
        try unsafe footprint.query(plan.observed, of: plan.entity.number) { note in
            try unsafe unnotedMatches(plan, in: part, on: source, needsBody: needsBody) {
                value, key, body in
                unsafe note(key)
                return try unsafe visit(value, key, body)
            }
        }
    }

    private static func unnotedMatches<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, in part: KeyRange?, on source: borrowing Source, needsBody: Bool,
        _ visit: (
            UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer?
        ) throws -> Bool
    ) throws {
        guard let test = plan.test else {
            return try unsafe matches(
                plan, nil, nil, in: part, on: source, needsBody: needsBody, visit)
        }
        try RowContext.with(source, isNeeded: test.needsContext) { context in
            try test.withRunner {
                try unsafe matches(
                    plan, $0, context, in: part, on: source, needsBody: needsBody, visit)
            }
        }
    }

    private static func matches<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, _ runner: ConditionRunner?, _ context: RowContext?,
        in part: KeyRange?, on source: borrowing Source, needsBody: Bool,
        _ visit: (
            UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer?
        ) throws -> Bool
    ) throws {
        let entity = plan.entity.number
        let noBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        let readsRows = needsBody || runner != nil
        /// Reads the row of a key if that is needed, and visits it if it matches.
        func match(
            _ value: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer
        ) throws -> Bool {
            guard readsRows else { return try unsafe visit(value, key, nil) }
            return try unsafe source.withRow(of: entity, key: key) { body in
                guard try unsafe holds(runner, context, key: key, body: body) else { return true }
                return try unsafe visit(value, key, body)
            } ?? true
        }
        switch plan.access {
        case .nothing: return
        case .scan(let bounds, let isReversed):
            let range = part ?? plan.rowRange(within: bounds, isReversed: isReversed)
            try unsafe source.visitRows(of: entity, within: range, reversed: isReversed) {
                key, body in
                guard try unsafe holds(runner, context, key: key, body: body) else { return true }
                return try unsafe visit(noBytes, key, body)
            }
        case .records(let keys):
            for key in keys {
                let goesOn = try unsafe key.bytes.withUnsafeBytes { key in
                    if unsafe plan.isBehind(key) { return true }
                    return try unsafe source.withRow(of: entity, key: key) { body in
                        guard try unsafe holds(runner, context, key: key, body: body) else {
                            return true
                        }
                        return try unsafe visit(noBytes, key, body)
                    } ?? true
                }
                if !goesOn { return }
            }
        case .index(let attribute, let ranges, let isReversed):
            let ranges = plan.indexRanges(ranges, of: attribute, isReversed: isReversed)
            var goesOn = true
            for at in ranges.indices where goesOn {
                let range = isReversed ? ranges[ranges.count - 1 - at] : ranges[at]
                try unsafe source.visitIndex(
                    of: entity, attribute: attribute, within: range, reversed: isReversed,
                    readsRows: readsRows
                ) { value, key in
                    goesOn = try unsafe match(value, key)
                    return goesOn
                }
            }
        case .referrers(let attribute, let targets):
            var goesOn = true
            for target in targets where goesOn {
                try unsafe source.visitReferrers(
                    of: entity, attribute: attribute, target: target, from: plan.keyStart,
                    readsRows: readsRows
                ) { key in
                    goesOn = try unsafe match(noBytes, key)
                    return goesOn
                }
            }
        case .combined(let keySource):
            try unsafe KeySet(keySource, of: entity, on: source).visit { key in
                if unsafe plan.isBehind(key) { return true }
                return try unsafe match(noBytes, key)
            }
        }
    }

    @inline(__always)
    private static func holds(
        _ runner: ConditionRunner?, _ context: RowContext?, key: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer
    ) throws -> Bool {
        guard let runner else { return true }
        guard let fields = unsafe PackedFields(body) else { throw damaged }
        do {
            return try unsafe runner.holds(
                for: RowBytes(key: key, fields: fields, context: context))
        } catch is FieldError {
            throw damaged
        }
    }
}
