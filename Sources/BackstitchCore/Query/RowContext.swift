/// What conditions and sorts read besides the row that they look at: rows at the other end of
/// relationships, and the elements of its lists.
///
/// Belongs to one run of a query, on one thread, and ends with it.
@safe
package final class RowContext {
    /// Calls a closure with the packed fields of a row, if the row exists.
    typealias RowVisit = (
        EntityNumber, UnsafeRawBufferPointer, (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Void
    /// Calls a closure with the stored keys of the records that refer to one, until it returns false.
    typealias ReferrersVisit = (
        EntityNumber, AttributeBinding, RecordKey, (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Void

    private let visitRow: RowVisit?
    private let visitReferrers: ReferrersVisit?
    private let footprint: ReadFootprint?
    private var others = RelatedRows()
    /// The elements of lists that conditions are asked of at the moment, the outermost first.
    var elements: [RecordValue] = []

    /// A context without other rows.
    init() {
        unsafe visitRow = nil
        unsafe visitReferrers = nil
        footprint = nil
    }

    /// A context with the rows of a source, which is kept as long.
    init(_ source: some RowSource) {
        unsafe visitRow = { entity, key, use in
            _ = try unsafe source.withRow(of: entity, key: key) {
                try unsafe use($0)
                return true
            }
        }
        unsafe visitReferrers = { entity, attribute, target, use in
            try unsafe source.visitReferrers(
                of: entity, attribute: attribute, target: target, from: [], readsRows: false, use)
        }
        footprint = source.footprint
    }

    /// Runs `body` with a context that reads from a source, or with none if nothing needs it.
    static func with<Source: RowSource & ~Copyable, Result>(
        _ source: borrowing Source, isNeeded: Bool, _ body: (RowContext?) throws -> Result
    ) throws -> Result {
        guard isNeeded else { return try body(nil) }
        let context = source.makeContext()
        return try withExtendedLifetime(context) { try body(context) }
    }

    // MARK: Other rows

    /// Calls `body` with the row of a record that another one refers to, if the record exists.
    func withRow(
        of entity: EntityNumber, key: UnsafeRawBufferPointer,
        _ body: (RowBytes) throws -> Void
    ) throws {
        switch unsafe others.known(of: entity, key) {
        case .absent: return
        case .row(let bytes): return try unsafe use(bytes, key, body)
        case .nothing: break
        }
        guard let visitRow = unsafe visitRow else { throw Self.alone }
        // Whether it is there or not: the answer depends on it.
        unsafe footprint?.noteOther(key, of: entity)
        var isThere = false
        try unsafe visitRow(entity, key) { bytes in
            isThere = true
            unsafe others.keep(bytes, of: entity, key)
            try unsafe use(bytes, key, body)
        }
        if !isThere { unsafe others.keep(nil, of: entity, key) }
    }

    private func use(
        _ bytes: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer,
        _ body: (RowBytes) throws -> Void
    ) throws {
        guard let fields = unsafe PackedFields(bytes) else { throw QueryExecutor.damaged }
        let row = unsafe RowBytes(key: key, fields: fields, context: self)
        if elements.isEmpty { return try body(row) }
        // The elements belong to the row in front.
        let outer = elements
        elements = []
        defer { elements = outer }
        try body(row)
    }

    /// The number of records that refer to one and fulfil a condition, up to `stop`.
    func countReferrers(
        of entity: EntityBinding, _ attribute: AttributeBinding, to target: UnsafeRawBufferPointer,
        fulfilling condition: Condition, _ test: BoundCondition?, upTo stop: Int
    ) throws -> Int {
        guard let visitRow = unsafe visitRow, let visitReferrers = unsafe visitReferrers else {
            throw Self.alone
        }
        guard let key = unsafe RecordKey(reading: target) else { throw FieldError(.damaged) }
        footprint?.noteOther(condition.bounded().simplified(), of: entity.number)
        let isCut = key.isCutInKeys
        let outer = elements
        elements = []
        defer { elements = outer }
        var count = 0
        try unsafe visitReferrers(entity.number, attribute, key) { other in
            guard test != nil || isCut else {
                unsafe footprint?.noteOther(other, of: entity.number)
                count += 1
                return count < stop
            }
            try unsafe visitRow(entity.number, other) { bytes in
                guard let fields = unsafe PackedFields(bytes) else { throw QueryExecutor.damaged }
                let row = unsafe RowBytes(key: other, fields: fields, context: self)
                if isCut {
                    let found = try unsafe row.value(of: attribute.field)?.storedKey
                    guard unsafe found?.order(target) == 0 else { return }
                }
                guard try test?.holds(for: row) ?? true else { return }
                unsafe footprint?.noteOther(other, of: entity.number)
                count += 1
            }
            return count < stop
        }
        return count
    }

    private static let alone = QueryError(
        .unsupportedExpression,
        "A condition on related records was asked of one record by itself. Ask it in a query.")
}

extension RowBytes {
    /// What else may be read for the row.
    func requiredContext() -> RowContext {
        guard let context = unsafe context else {
            preconditionFailure("A condition that needs a context is run with one.")
        }
        return unsafe context.takeUnretainedValue()
    }
}
