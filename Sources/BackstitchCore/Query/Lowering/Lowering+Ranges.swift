import Foundation

/// A captured range whose bounds can be compared with an attribute.
protocol LowerableRange {
    func lowered(around element: Operand, in context: LoweringContext) throws -> Condition
}

extension Range: LowerableRange {
    func lowered(around element: Operand, in context: LoweringContext) throws -> Condition {
        .all([
            .comparison(element, .greaterOrEqual, try context.operand(lowerBound, in: self)),
            .comparison(element, .less, try context.operand(upperBound, in: self)),
        ])
    }
}

extension ClosedRange: LowerableRange {
    func lowered(around element: Operand, in context: LoweringContext) throws -> Condition {
        .all([
            .comparison(element, .greaterOrEqual, try context.operand(lowerBound, in: self)),
            .comparison(element, .lessOrEqual, try context.operand(upperBound, in: self)),
        ])
    }
}

extension PartialRangeFrom: LowerableRange {
    func lowered(around element: Operand, in context: LoweringContext) throws -> Condition {
        .comparison(element, .greaterOrEqual, try context.operand(lowerBound, in: self))
    }
}

extension PartialRangeThrough: LowerableRange {
    func lowered(around element: Operand, in context: LoweringContext) throws -> Condition {
        .comparison(element, .lessOrEqual, try context.operand(upperBound, in: self))
    }
}

extension PartialRangeUpTo: LowerableRange {
    func lowered(around element: Operand, in context: LoweringContext) throws -> Condition {
        .comparison(element, .less, try context.operand(upperBound, in: self))
    }
}

/// A range expression whose bounds may be attributes themselves.
protocol LowerableBounds {
    func bounds(
        around element: Operand, in context: inout LoweringContext
    ) throws -> Condition
}

extension PredicateExpressions.Range: LowerableBounds {
    func bounds(
        around element: Operand, in context: inout LoweringContext
    ) throws -> Condition {
        .all([
            .comparison(element, .greaterOrEqual, try context.lower(lower)),
            .comparison(element, .less, try context.lower(upper)),
        ])
    }
}

extension PredicateExpressions.ClosedRange: LowerableBounds {
    func bounds(
        around element: Operand, in context: inout LoweringContext
    ) throws -> Condition {
        .all([
            .comparison(element, .greaterOrEqual, try context.lower(lower)),
            .comparison(element, .lessOrEqual, try context.lower(upper)),
        ])
    }
}

extension PredicateExpressions.RangeExpressionContains: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        let element = try context.lower(element)
        if let range = range as? any LowerableBounds {
            return .condition(try range.bounds(around: element, in: &context))
        }
        if let range = try context.constant(range) as? any LowerableRange {
            return .condition(try range.lowered(around: element, in: context))
        }
        throw context.unsupported(self)
    }
}
