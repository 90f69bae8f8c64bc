/// Answers queries from a source of rows, as their plans say.
package enum QueryExecutor {
    /// Visits the records of an answer in order.
    ///
    /// Rows are read again after a sort in memory, which keeps only sort keys and record keys, and
    /// no more of them than offset and limit ask for.
    ///
    /// - Parameter visit: Gets the stored record key and the packed fields, valid only inside it,
    ///   and returns whether to go on.
    /// - Throws: ``QueryError`` for damaged rows, `!` on nil and arithmetic overflow, or what the
    ///   source or `visit` threw.
    package static func run<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, on source: borrowing Source,
        visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try unsafe ordered(plan, on: source, needsBody: true) { key, body in
            if let body = unsafe body { return try unsafe visit(key, body) }
            // A row that a sorted key belongs to is there: both are of one snapshot.
            return try unsafe source.withRow(of: plan.entity.number, key: key) {
                try unsafe visit(key, $0)
            }
                ?? true
        }
    }

    /// Visits the stored keys of the records of an answer in order, without reading more rows than
    /// conditions and order need.
    package static func visitKeys<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, on source: borrowing Source,
        visit: (_ key: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try unsafe ordered(plan, on: source, needsBody: false) { key, _ in try unsafe visit(key) }
    }

    /// The number of records of an answer; its order is not made.
    package static func count<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, on source: borrowing Source
    ) throws -> Int {
        if plan.limit == 0 { return 0 }
        if let count = try plan.countAlongside(on: source) { return count }
        let stop = plan.stop
        var count = 0
        try unsafe matches(plan, on: source, needsBody: false) { _, _, _ in
            count += 1
            return count != stop
        }
        return max(0, count - plan.offset)
    }

    /// Visits the answer in order; rows are at hand if they had to be read anyway.
    private static func ordered<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, on source: borrowing Source, needsBody: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws -> Bool
    ) throws {
        if plan.limit == 0 { return }
        try RowContext.with(source, isNeeded: plan.sortsByOthers) { context in
            try unsafe ordered(plan, context, on: source, needsBody: needsBody, visit)
        }
    }

    private static func ordered<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, _ context: RowContext?, on source: borrowing Source, needsBody: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws -> Bool
    ) throws {
        var window = OffsetLimit(offset: plan.offset, limit: plan.limit)
        switch plan.ordering {
        case .asRead:
            // What the offset skips is not read unless a condition asks for it.
            let readsFirst = needsBody && plan.offset == 0
            try unsafe matches(plan, on: source, needsBody: readsFirst) { _, key, body in
                try unsafe window.pass(key, body, visit)
            }
        case .inMemory:
            if let parts = try plan.sortAlongside(on: source) {
                return try unsafe SortBuffer.visitMerged(parts) {
                    try unsafe window.pass($0, nil, visit)
                }
            }
            var buffer = SortBuffer(countMax: plan.stop, after: plan.position?.ordered)
            try collect(plan, context, on: source, into: &buffer)
            // What the offset skips is not read.
            let readsAll = needsBody && plan.offset == 0
            _ = try unsafe buffer.visitSorted(
                ahead: { count, key in
                    guard readsAll, count > 1 else { return }
                    unsafe source.prefetchRows(of: plan.entity.number, count: count, key: key)
                }
            ) { key in try unsafe window.pass(key, nil, visit) }
        case .groups:
            try unsafe grouped(plan, context, on: source, needsBody: needsBody) { key, body in
                try unsafe window.pass(key, body, visit)
            }
        }
    }

    /// Adds the matches of a plan, or of a piece of its rows, to what sorts them.
    static func collect<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, in part: KeyRange? = nil, _ context: RowContext?,
        on source: borrowing Source, into buffer: inout SortBuffer
    ) throws {
        let leading = plan.steps.first?.leading
        let sortsByRow = plan.steps.contains { !$0.isKey }
        // Taken once: each slice counts a reference.
        let steps = plan.steps[...]
        try unsafe matches(plan, in: part, on: source, needsBody: sortsByRow) { _, key, body in
            try unsafe buffer.add(
                key: key, steps: steps, leading: leading, fields: fields(body), context)
            return true
        }
    }

    static func fields(_ body: UnsafeRawBufferPointer?) throws -> PackedFields? {
        guard let body = unsafe body else { return nil }
        guard let fields = unsafe PackedFields(body) else { throw damaged }
        return fields
    }

    static var damaged: QueryError {
        QueryError(.damagedRow, "A row breaks the format. Run verify, then rebuild.")
    }
}

extension QueryPlan {
    /// Whether rows of other records decide the order.
    var sortsByOthers: Bool { steps.contains { $0.related != nil } }

    /// The number of records after which nothing more is needed; nil for all.
    var stop: Int? {
        guard let limit else { return nil }
        let (sum, hasOverflowed) = limit.addingReportingOverflow(offset)
        return hasOverflowed ? nil : sum
    }
}

/// The part of an answer that offset and limit leave.
struct OffsetLimit {
    enum Step {
        case skip, take, takeLast
    }

    private var skipped: Int
    private var remaining: Int?

    init(offset: Int, limit: Int?) {
        skipped = offset
        remaining = limit
    }

    mutating func next() -> Step {
        if skipped > 0 {
            skipped -= 1
            return .skip
        }
        guard let count = remaining else { return .take }
        remaining = count - 1
        return count <= 1 ? .takeLast : .take
    }

    /// Visits the record if it is in the window, and returns whether there is more to come.
    mutating func pass(
        _ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer?,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws -> Bool
    ) rethrows -> Bool {
        switch next() {
        case .skip: return true
        case .take: return try unsafe visit(key, body)
        case .takeLast:
            _ = try unsafe visit(key, body)
            return false
        }
    }
}
