extension Condition {
    /// Whether a test holds for an operand of the condition, or of a part of it.
    func hasOperand(_ test: (Operand) -> Bool) -> Bool {
        switch self {
        case .constant: false
        case .comparison(let left, _, let right), .contains(let left, let right),
            .prefix(let left, let right):
            left.hasPart(test) || right.hasPart(test)
        case .isNull(let operand), .membership(let operand, _), .test(let operand):
            operand.hasPart(test)
        case .anyElement(let list, let condition):
            list.hasPart(test) || condition.hasOperand(test)
        case .referrers(_, let condition, _, _), .not(let condition): condition.hasOperand(test)
        case .all(let parts), .any(let parts): parts.contains { $0.hasOperand(test) }
        case .conditional(let first, let yes, let no):
            first.hasOperand(test) || yes.hasOperand(test) || no.hasOperand(test)
        }
    }

    /// Whether the condition can be evaluated on every row without an error.
    var isTotal: Bool {
        !hasOperand { operand in
            switch operand {
            case .unwrapped, .arithmetic: true
            default: false
            }
        }
    }

    /// Whether more than the fields of a row is needed to evaluate the condition.
    var needsContext: Bool {
        if asksOthers { return true }
        return hasCondition { condition in
            if case .anyElement = condition { true } else { false }
        }
    }

    /// Whether rows of other records decide what the condition says.
    package var asksOthers: Bool {
        let hasReferrers = hasCondition { condition in
            if case .referrers = condition { true } else { false }
        }
        return hasReferrers
            || hasOperand { operand in
                if case .related = operand { true } else { false }
            }
    }

    /// A condition on a record by itself that holds wherever this one can, whatever related records are;
    /// or, of a lower bound, only where this one must.
    ///
    /// A changed record that does not fulfil it can't come to belong to an answer by a later change of
    /// another record.
    func bounded(isUpper: Bool = true) -> Condition {
        guard asksOthers else { return self }
        switch self {
        case .all(let parts): return .all(parts.map { $0.bounded(isUpper: isUpper) })
        case .any(let parts): return .any(parts.map { $0.bounded(isUpper: isUpper) })
        case .not(let inner): return .not(inner.bounded(isUpper: !isUpper))
        default: return .constant(isUpper)
        }
    }

    /// Whether a test holds for the condition, or a part of it.
    private func hasCondition(_ test: (Condition) -> Bool) -> Bool {
        if test(self) { return true }
        switch self {
        case .all(let parts), .any(let parts):
            if parts.contains(where: { $0.hasCondition(test) }) { return true }
        case .not(let inner), .anyElement(_, let inner), .referrers(_, let inner, _, _):
            if inner.hasCondition(test) { return true }
        case .conditional(let first, let yes, let no):
            if [first, yes, no].contains(where: { $0.hasCondition(test) }) { return true }
        default: break
        }
        return hasOperand { operand in
            switch operand {
            case .condition(let inner), .conditional(let inner, _, _): inner.hasCondition(test)
            default: false
            }
        }
    }
}

extension Operand {
    /// Whether a test holds for the operand, or a part of it.
    func hasPart(_ test: (Operand) -> Bool) -> Bool {
        if test(self) { return true }
        return switch self {
        case .constant, .attribute, .recordKey, .element: false
        case .condition(let condition): condition.hasOperand(test)
        case .coalesce(let first, let second), .chained(let first, let second),
            .arithmetic(_, let first, let second, _):
            first.hasPart(test) || second.hasPart(test)
        case .unwrapped(let operand), .count(let operand), .related(_, let operand):
            operand.hasPart(test)
        case .conditional(let condition, let yes, let no):
            condition.hasOperand(test) || yes.hasPart(test) || no.hasPart(test)
        }
    }
}
