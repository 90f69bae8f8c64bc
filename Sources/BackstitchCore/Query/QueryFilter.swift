/// What a query asks of each record by itself, without its order and limits.
package struct QueryFilter: Sendable {
    private let test: BoundCondition?

    /// The conditions of a query of an entity.
    ///
    /// - Throws: ``QueryError`` for unknown attributes and values of other types than theirs.
    package init(_ query: RecordQuery, in entity: EntityBinding) throws {
        test =
            query.conditions.isEmpty
            ? nil : try BoundCondition(.all(query.conditions), in: entity)
    }

    /// A condition of an entity.
    ///
    /// - Throws: as for a query.
    package init(_ condition: Condition, in entity: EntityBinding) throws {
        test = try BoundCondition(condition, in: entity)
    }

    /// Whether a record fits.
    ///
    /// - Parameters:
    ///   - key: The stored record key.
    ///   - body: The packed fields of the row.
    ///   - source: Where related records are.
    /// - Throws: ``QueryError`` for `!` on nil, arithmetic overflow and damaged rows.
    package func holds<Source: RowSource & ~Copyable>(
        key: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, on source: borrowing Source
    ) throws -> Bool {
        guard let test else { return true }
        return try RowContext.with(source, isNeeded: test.needsContext) { context in
            try unsafe Self.holds(test, key, body, context)
        }
    }

    /// Whether a record fits by itself.
    ///
    /// - Throws: as with a source; ``QueryError`` with code `unsupportedExpression` for conditions on
    ///   related records.
    package func holds(
        key: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) throws -> Bool {
        guard let test else { return true }
        let context = test.needsContext ? RowContext() : nil
        return try unsafe Self.holds(test, key, body, context)
    }

    private static func holds(
        _ test: BoundCondition, _ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer,
        _ context: RowContext?
    ) throws -> Bool {
        guard let fields = unsafe PackedFields(body) else { throw QueryExecutor.damaged }
        return try withExtendedLifetime(context) {
            do {
                return try unsafe test.holds(
                    for: RowBytes(key: key, fields: fields, context: context))
            } catch is FieldError {
                throw QueryExecutor.damaged
            }
        }
    }
}
