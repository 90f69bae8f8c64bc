extension Condition {
    /// The same condition in the form that the planner looks for.
    ///
    /// Constants stand on the right, comparisons with nil are null checks, branches inside operands
    /// (`??`, optional chaining, `? :`) become branches between conditions, nested conjunctions are
    /// flat, and alternatives of one operand are a membership.
    package func simplified() -> Condition {
        switch self {
        case .constant: self
        case .all(let parts): Self.conjunction(of: parts)
        case .any(let parts): Self.disjunction(of: parts)
        case .not(let condition): Self.negation(of: condition.simplified())
        case .conditional(let test, let yes, let no):
            Self.branch(test.simplified(), yes, no)
        case .comparison(let left, let comparison, let right):
            Self.distributed(left) { left in
                Self.distributed(right) { right in Self.compared(left, comparison, right) }
            }
        case .isNull(let operand): Self.distributed(operand, Self.nullCheck)
        case .membership(let operand, let values):
            Self.distributed(operand) { Self.member($0, values) }
        case .contains(let text, let part):
            Self.distributed(text) { text in
                Self.distributed(part) { Self.textual(.contains(text, $0), text, $0) }
            }
        case .prefix(let text, let part):
            Self.distributed(text) { text in
                Self.distributed(part) { Self.textual(.prefix(text, $0), text, $0) }
            }
        case .anyElement(let list, let condition):
            Self.distributed(list) { list in
                list == .constant(.null)
                    ? .constant(false) : .anyElement(list, condition.simplified())
            }
        case .referrers(let relation, let condition, let comparison, let number):
            .referrers(relation, condition.simplified(), comparison, number)
        case .test(let operand):
            Self.distributed(operand) { Self.compared($0, .equal, .constant(.bool(true))) }
        }
    }

    /// Applies `make` to each operand that `operand` may stand for.
    private static func distributed(
        _ operand: Operand, _ make: (Operand) -> Condition
    ) -> Condition {
        switch operand {
        case .coalesce(let first, let second):
            let test = Condition.isNull(first).simplified()
            return branch(test, distributed(second, make), distributed(first, make))
        case .chained(let first, let second):
            let test = Condition.isNull(first).simplified()
            return branch(test, make(.constant(.null)), distributed(second, make))
        case .conditional(let test, let yes, let no):
            return branch(test.simplified(), distributed(yes, make), distributed(no, make))
        default:
            return make(operand)
        }
    }

    private static func branch(_ test: Condition, _ yes: Condition, _ no: Condition) -> Condition {
        if case .constant(let truth) = test { return truth ? yes.simplified() : no.simplified() }
        let yes = guarded(yes, by: test).simplified()
        let no = guarded(no, by: .not(test)).simplified()
        switch (yes, no) {
        case (.constant(true), .constant(true)): return .constant(true)
        case (.constant(false), .constant(false)): return .constant(false)
        case (.constant(true), _): return disjunction(of: [test, no])
        case (.constant(false), _): return conjunction(of: [.not(test), no])
        case (_, .constant(true)): return disjunction(of: [.not(test), yes])
        case (_, .constant(false)): return conjunction(of: [test, yes])
        default: return .conditional(test, yes, no)
        }
    }

    /// The condition with operands that `test` has shown not to be null taken as they are.
    private static func guarded(_ condition: Condition, by test: Condition) -> Condition {
        switch test {
        case .not(.isNull(let operand)): condition.unwrapping(operand)
        case .not(.not(let inner)): guarded(condition, by: inner)
        case .all(let parts): parts.reduce(condition) { guarded($0, by: $1) }
        default: condition
        }
    }

    private static func conjunction(of parts: [Condition]) -> Condition {
        var result: [Condition] = []
        for part in parts {
            let known = result.reduce(part) { guarded($0, by: $1) }
            switch known.simplified() {
            case .constant(true): continue
            case .constant(false):
                result.append(.constant(false))
                return result.count == 1 || result.allSatisfy(\.isTotal)
                    ? .constant(false) : .all(result)
            case .all(let inner): result += inner
            case let other: result.append(other)
            }
        }
        return result.count == 1 ? result[0] : result.isEmpty ? .constant(true) : .all(result)
    }

    private static func disjunction(of parts: [Condition]) -> Condition {
        var result: [Condition] = []
        for part in parts {
            let known = result.reduce(part) { guarded($0, by: .not($1)) }
            switch known.simplified() {
            case .constant(false): continue
            case .constant(true):
                result.append(.constant(true))
                return result.allSatisfy(\.isTotal) ? .constant(true) : .any(result)
            case .any(let inner): inner.forEach { append($0, to: &result) }
            case let other: append(other, to: &result)
            }
        }
        return result.count == 1 ? result[0] : result.isEmpty ? .constant(false) : .any(result)
    }

    /// Appends an alternative, as a membership with the one before it where both ask for values of
    /// the same operand.
    private static func append(_ condition: Condition, to alternatives: inout [Condition]) {
        if let (operand, values) = condition.alternatives, let last = alternatives.last,
            let (other, others) = last.alternatives, other == operand
        {
            alternatives[alternatives.count - 1] = .membership(operand, others + values)
        } else {
            alternatives.append(condition)
        }
    }

    /// The values one of which the operand must equal, if the condition is nothing else.
    package var alternatives: (Operand, [RecordValue])? {
        switch self {
        case .comparison(let operand, .equal, .constant(let value)): (operand, [value])
        case .membership(let operand, let values): (operand, values)
        case .isNull(let operand): (operand, [.null])
        default: nil
        }
    }

    private static func negation(of condition: Condition) -> Condition {
        switch condition {
        case .constant(let truth): .constant(!truth)
        case .not(let inner): inner
        case .comparison(let left, .equal, let right): .comparison(left, .notEqual, right)
        case .comparison(let left, .notEqual, let right): .comparison(left, .equal, right)
        default: .not(condition)
        }
    }

    private static func compared(
        _ left: Operand, _ comparison: Comparison, _ right: Operand
    ) -> Condition {
        switch (left, right) {
        case (.constant(let one), .constant(let other)):
            return .constant(one.matches(comparison, other))
        case (.constant, _):
            return compared(right, comparison.mirrored, left)
        case (.condition(let condition), .constant(.bool(let truth))) where !comparison.isOrder:
            let isSame = truth == (comparison == .equal)
            return isSame ? condition.simplified() : negation(of: condition.simplified())
        case (_, .constant(.null)):
            switch comparison {
            case .equal: return Condition.isNull(left).simplified()
            case .notEqual: return negation(of: Condition.isNull(left).simplified())
            default: return .constant(false)
            }
        default:
            return .comparison(left, comparison, right)
        }
    }

    private static func nullCheck(_ operand: Operand) -> Condition {
        switch operand {
        case .constant(let value): .constant(value == .null)
        case .recordKey, .condition: .constant(false)
        default: .isNull(operand)
        }
    }

    private static func member(_ operand: Operand, _ values: [RecordValue]) -> Condition {
        if case .constant(let value) = operand {
            return .constant(values.contains { value.matches(.equal, $0) })
        }
        switch values.count {
        case 0: return .constant(false)
        case 1: return compared(operand, .equal, .constant(values[0]))
        default: return .membership(operand, values)
        }
    }

    private static func textual(
        _ condition: Condition, _ text: Operand, _ part: Operand
    ) -> Condition {
        if text == .constant(.null) || part == .constant(.null) { return .constant(false) }
        return condition
    }
}
