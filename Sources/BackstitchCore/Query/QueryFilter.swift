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
    /// - Throws: ``QueryError`` for `!` on nil, arithmetic overflow and damaged rows.
    package func holds(
        key: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) throws -> Bool {
        guard let test else { return true }
        guard let fields = PackedFields(body) else { throw QueryExecutor.damaged }
        do {
            return try test.holds(for: RowBytes(key: key, fields: fields))
        } catch is FieldError {
            throw QueryExecutor.damaged
        }
    }
}
