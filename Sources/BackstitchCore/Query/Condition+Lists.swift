extension Operand {
    /// The constant that a list attribute is asked for, in the type of the list's elements.
    ///
    /// - Throws: ``QueryError`` with code `unsupportedExpression` or `typeMismatch`.
    func resolvedElement(of list: Operand, in entity: EntityBinding) throws -> Operand {
        guard case .attribute(let name) = list, case .constant(let value) = self,
            let type = try list.type(in: entity)?.element
        else {
            throw QueryError(
                .unsupportedExpression,
                "A query of \(entity.name) asks a list for something that is no constant. Ask list "
                    + "attributes for constants, or filter the result in Swift.")
        }
        guard value != .null, value.converted(to: type) != nil else {
            throw QueryError(
                .typeMismatch,
                "A query of \(entity.name) asks \(name) for a value that is no \(type). Compare "
                    + "values of one type.")
        }
        return .constant(try value.required(as: type, entity: entity))
    }
}

extension Condition {
    /// The condition with elements whose type is not known yet taken for those of a list of `type`; those
    /// of lists inside it are left to these.
    func typingElements(_ type: AttributeType) -> Condition {
        switch self {
        case .anyElement: self
        case .all(let parts): .all(parts.map { $0.typingElements(type) })
        case .any(let parts): .any(parts.map { $0.typingElements(type) })
        case .not(let inner): .not(inner.typingElements(type))
        default:
            mapOperands { $0.mapElements { depth, known in .element(depth: depth, known ?? type) } }
        }
    }

    /// The condition inside one more list: the elements of its own lists are one deeper.
    func deepened() -> Condition {
        switch self {
        case .anyElement(let list, let condition):
            .anyElement(
                list,
                condition.mapOperands {
                    $0.mapElements { depth, type in .element(depth: depth + 1, type) }
                })
        case .all(let parts): .all(parts.map { $0.deepened() })
        case .any(let parts): .any(parts.map { $0.deepened() })
        case .not(let inner): .not(inner.deepened())
        default: self
        }
    }
}

extension Operand {
    /// The operand with the elements of lists in it replaced.
    fileprivate func mapElements(_ change: (Int, AttributeType?) -> Operand) -> Operand {
        if case .element(let depth, let type) = self { return change(depth, type) }
        return mapParts { $0.mapElements(change) }
    }
}

extension BoundCondition {
    /// The test whether a list attribute has an element.
    static func elementTest(_ attribute: AttributeBinding, _ element: RecordValue) -> Test {
        let (field, type) = (attribute.field, attribute.type)
        let without = attribute.defaultValue.hasElement(element)
        return { row in
            guard let value = try row.value(of: field) else { return without }
            return value.stored(as: type).hasElement(element)
        }
    }
}

extension BoundCondition {
    /// The test whether an element of a list fulfils a condition.
    static func anyElementTest(
        _ list: Operand, _ condition: Condition, in entity: EntityBinding
    ) throws -> Test {
        let list = try compute(list, in: entity)
        let test = try test(for: condition.simplified(), in: entity)
        return { row in
            guard case .list(let elements) = try list(row) else { return false }
            let context = row.requiredContext()
            defer { context.elements.removeLast() }
            context.elements.append(.null)
            for element in elements {
                context.elements[context.elements.count - 1] = element
                if try test(row) { return true }
            }
            return false
        }
    }
}

extension RecordValue {
    fileprivate func hasElement(_ element: RecordValue) -> Bool {
        guard case .list(let elements) = self else { return false }
        return elements.contains { $0.matches(.equal, element) }
    }
}
