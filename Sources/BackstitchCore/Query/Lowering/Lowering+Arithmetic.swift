import Foundation

extension LoweringContext {
    /// A calculation in the Swift type of an expression.
    mutating func arithmetic<Number>(
        _ operation: Arithmetic, _ left: any PredicateExpression,
        _ right: any PredicateExpression, as type: Number.Type, in expression: Any
    ) throws -> Operand {
        guard let type = (type as? any AttributeValue.Type)?._attributeType else {
            throw unsupported(expression)
        }
        let (left, right) = (try lower(left), try lower(right))
        // What captured values add up to can be looked up in an index. One that overflows fails when
        // it is asked for, not before.
        if case .constant(let one) = left, case .constant(let other) = right,
            let result = try? operation.result(one, other, as: type)
        {
            return .constant(result)
        }
        return .arithmetic(operation, left, right, type)
    }
}

extension PredicateExpressions.Arithmetic: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        let operation: Arithmetic =
            switch op {
            case .add: .add
            case .subtract: .subtract
            case .multiply: .multiply
            @unknown default: throw context.unsupported(self)
            }
        return try context.arithmetic(operation, lhs, rhs, as: Output.self, in: self)
    }
}

extension PredicateExpressions.IntDivision: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        try context.arithmetic(.divide, lhs, rhs, as: Output.self, in: self)
    }
}

extension PredicateExpressions.FloatDivision: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        try context.arithmetic(.divide, lhs, rhs, as: Output.self, in: self)
    }
}

extension PredicateExpressions.IntRemainder: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        try context.arithmetic(.remainder, lhs, rhs, as: Output.self, in: self)
    }
}

extension PredicateExpressions.UnaryMinus: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        // As a product it also turns 0.0 into -0.0, as a minus does and 0 - x does not.
        let minusOne = PredicateExpressions.Value<Wrapped.Output>(-1)
        return try context.arithmetic(.multiply, wrapped, minusOne, as: Output.self, in: self)
    }
}
