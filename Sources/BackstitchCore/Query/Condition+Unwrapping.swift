extension Condition {
    /// The condition with `operand!` taken as `operand`, if that is known not to be null.
    func unwrapping(_ operand: Operand) -> Condition {
        mapOperands { $0.unwrapping(operand) }
    }

    /// The condition with each of its operands replaced.
    func mapOperands(_ change: (Operand) throws -> Operand) rethrows -> Condition {
        switch self {
        case .constant: self
        case .comparison(let left, let comparison, let right):
            .comparison(try change(left), comparison, try change(right))
        case .isNull(let operand): .isNull(try change(operand))
        case .membership(let operand, let values): .membership(try change(operand), values)
        case .contains(let text, let part): .contains(try change(text), try change(part))
        case .prefix(let text, let part): .prefix(try change(text), try change(part))
        case .anyElement(let list, let condition):
            .anyElement(try change(list), try condition.mapOperands(change))
        // Its condition is about records of another entity.
        case .referrers: self
        case .all(let parts): .all(try parts.map { try $0.mapOperands(change) })
        case .any(let parts): .any(try parts.map { try $0.mapOperands(change) })
        case .not(let condition): .not(try condition.mapOperands(change))
        case .test(let operand): .test(try change(operand))
        case .conditional(let test, let yes, let no):
            .conditional(
                try test.mapOperands(change), try yes.mapOperands(change),
                try no.mapOperands(change))
        }
    }
}

extension Operand {
    /// The operand with each of the operands that it is made of replaced.
    func mapParts(_ change: (Operand) throws -> Operand) rethrows -> Operand {
        switch self {
        // What a related record is asked for is about another entity.
        case .constant, .attribute, .recordKey, .related, .element: self
        case .condition(let condition): .condition(try condition.mapOperands(change))
        case .coalesce(let first, let second): .coalesce(try change(first), try change(second))
        case .unwrapped(let operand): .unwrapped(try change(operand))
        case .chained(let first, let second): .chained(try change(first), try change(second))
        case .conditional(let test, let yes, let no):
            .conditional(try test.mapOperands(change), try change(yes), try change(no))
        case .arithmetic(let operation, let left, let right, let type):
            .arithmetic(operation, try change(left), try change(right), type)
        case .count(let operand): .count(try change(operand))
        }
    }

    func unwrapping(_ operand: Operand) -> Operand {
        if case .unwrapped(let inner) = self, inner == operand { return operand }
        return mapParts { $0.unwrapping(operand) }
    }
}
