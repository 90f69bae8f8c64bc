import Foundation

extension PredicateExpressions.CollectionContainsCollection: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        guard Base.Output.self == String.self, Other.Output.self == String.self else {
            throw context.unsupported(self)
        }
        return .condition(.contains(try context.lower(base), try context.lower(other)))
    }
}

extension PredicateExpressions.SequenceStartsWith: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        guard Base.Output.self == String.self, Prefix.Output.self == String.self else {
            throw context.unsupported(self)
        }
        return .condition(.prefix(try context.lower(base), try context.lower(prefix)))
    }
}

extension PredicateExpressions.SequenceContains: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        if LHS.Output.self == String.self {
            return .condition(.contains(try context.lower(sequence), try context.text(element)))
        }
        guard let elements = try context.constant(sequence) as? LHS.Output else {
            guard LHS.Output.self is any AttributeValue.Type else {
                throw context.unsupported(self)
            }
            return .condition(.contains(try context.lower(sequence), try context.lower(element)))
        }
        let element = try context.lower(element)
        if let range = elements as? any LowerableRange {
            return .condition(try range.lowered(around: element, in: context))
        }
        var values = try elements.map { try context.value(of: $0, in: self) }
        // A set has another order in each process; the same query is the same condition.
        if !(elements is any RandomAccessCollection) { values.sort { "\($0)" < "\($1)" } }
        return .condition(.membership(element, values))
    }
}

extension PredicateExpressions.SequenceContainsWhere: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        if let any = try context.anyElement(of: sequence, variable, { try $0.condition(test) }) {
            return .condition(any)
        }
        let tests = try context.conditions(sequence, variable: variable, test: test, in: self)
        return .condition(.any(tests))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        if let any = try context.anyElement(
            of: sequence, variable, { .not(try $0.condition(test)) })
        {
            return .condition(.not(any))
        }
        let tests = try context.conditions(sequence, variable: variable, test: test, in: self)
        return .condition(.all(tests))
    }
}

extension LoweringContext {
    /// The most elements of a constant collection that a test is repeated for.
    static let repeatedTestCountMax = 1_000

    /// The condition that an element of a list attribute fulfils a test; nil if the sequence is a constant.
    mutating func anyElement<Elements: PredicateExpression, Element>(
        of sequence: Elements, _ variable: PredicateExpressions.Variable<Element>,
        _ test: (inout LoweringContext) throws -> Condition
    ) throws -> Condition? {
        guard try constant(sequence) == nil,
            let type = (Elements.Output.self as? any AttributeValue.Type)?._attributeType.element
        else { return nil }
        let list = try lower(sequence)
        variables[variable.key] = .some(.some(.element(depth: listDepth, type)))
        listDepth += 1
        defer { listDepth -= 1 }
        return .anyElement(list, try test(&self))
    }

    /// A test with its variable standing for each element of a constant collection in turn.
    mutating func conditions<Elements: PredicateExpression, Element>(
        _ sequence: Elements, variable: PredicateExpressions.Variable<Element>,
        test: any PredicateExpression, in expression: Any
    ) throws -> [Condition] where Elements.Output: Sequence, Elements.Output.Element == Element {
        guard let elements = try constant(sequence) as? Elements.Output else {
            throw unsupported(expression)
        }
        var result: [Condition] = []
        for element in elements {
            guard result.count < Self.repeatedTestCountMax else {
                throw unsupported(
                    expression, because: "it has over \(Self.repeatedTestCountMax) elements")
            }
            variables[variable.key] = .some(.some(try operand(element, in: expression)))
            result.append(try condition(test))
        }
        return result
    }
}
