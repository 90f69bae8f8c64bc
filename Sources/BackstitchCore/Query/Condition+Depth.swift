extension Condition {
    /// How deep conditions may be nested. Each level takes room on the stack wherever a condition is gone through.
    static let depthMax = 200

    /// Throws if conditions are nested too deep; finds that out level by level.
    ///
    /// - Throws: ``QueryError`` with code `unsupportedExpression`.
    func checkDepth() throws(QueryError) {
        var level = [self]
        for _ in 0..<Self.depthMax {
            level = level.flatMap(\.parts)
            if level.isEmpty { return }
        }
        throw .nestedTooDeep
    }

    /// The conditions right inside of it.
    private var parts: [Condition] {
        switch self {
        case .all(let parts), .any(let parts): parts
        case .not(let inner), .referrers(_, let inner, _, _): [inner]
        case .anyElement(let list, let inner): list.conditions + [inner]
        case .conditional(let test, let yes, let no): [test, yes, no]
        case .isNull(let operand), .membership(let operand, _), .test(let operand):
            operand.conditions
        case .comparison(let left, _, let right), .contains(let left, let right),
            .prefix(let left, let right):
            left.conditions + right.conditions
        case .constant: []
        }
    }
}

extension Operand {
    /// The conditions that the operand is made of.
    fileprivate var conditions: [Condition] {
        switch self {
        case .condition(let condition): [condition]
        case .conditional(let test, let yes, let no): [test] + yes.conditions + no.conditions
        case .related(_, let operand), .unwrapped(let operand), .count(let operand):
            operand.conditions
        case .coalesce(let first, let second), .chained(let first, let second),
            .arithmetic(_, let first, let second, _):
            first.conditions + second.conditions
        case .constant, .attribute, .recordKey, .element: []
        }
    }
}

extension QueryError {
    static let nestedTooDeep = QueryError(
        .unsupportedExpression,
        "A query nests conditions more than \(Condition.depthMax) deep. Collect those that a loop makes in a "
            + "list, and give that to all or any once.")
}
