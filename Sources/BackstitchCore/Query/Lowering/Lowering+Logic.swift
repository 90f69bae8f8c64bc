import Foundation

extension PredicateExpressions.Conjunction: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .condition(.all([try context.condition(lhs), try context.condition(rhs)]))
    }
}

extension PredicateExpressions.Disjunction: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .condition(.any([try context.condition(lhs), try context.condition(rhs)]))
    }
}

extension PredicateExpressions.Negation: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .condition(.not(try context.condition(wrapped)))
    }
}

extension PredicateExpressions.Equal: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .condition(.comparison(try context.lower(lhs), .equal, try context.lower(rhs)))
    }
}

extension PredicateExpressions.NotEqual: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .condition(.comparison(try context.lower(lhs), .notEqual, try context.lower(rhs)))
    }
}

extension PredicateExpressions.Comparison: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        let comparison: Comparison =
            switch op {
            case .lessThan: .less
            case .lessThanOrEqual: .lessOrEqual
            case .greaterThan: .greater
            case .greaterThanOrEqual: .greaterOrEqual
            @unknown default: throw context.unsupported(self)
            }
        return .condition(.comparison(try context.lower(lhs), comparison, try context.lower(rhs)))
    }
}

extension PredicateExpressions.Conditional: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .conditional(
            try context.condition(test), try context.lower(trueBranch),
            try context.lower(falseBranch))
    }
}

extension PredicateExpressions.NilCoalesce: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .coalesce(try context.lower(lhs), try context.lower(rhs))
    }
}

extension PredicateExpressions.ForcedUnwrap: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        .unwrapped(try context.lower(inner))
    }
}

extension PredicateExpressions.OptionalFlatMap: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        let wrapped = try context.lower(wrapped)
        context.variables[variable.key] = .some(.some(wrapped))
        return .chained(wrapped, try context.lower(transform))
    }
}
