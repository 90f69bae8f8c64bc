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
        guard value != .null, let element = value.converted(to: type) else {
            throw QueryError(
                .typeMismatch,
                "A query of \(entity.name) asks \(name) for a value that is no \(type). Compare "
                    + "values of one type.")
        }
        return .constant(element)
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

extension RecordValue {
    fileprivate func hasElement(_ element: RecordValue) -> Bool {
        guard case .list(let elements) = self else { return false }
        return elements.contains { $0.matches(.equal, element) }
    }
}
