import Foundation

extension PredicateExpressions.CollectionIndexSubscript: CapturedExpression, LowerableExpression {
    var isCaptured: Bool {
        (wrapped as? any CapturedExpression)?.isCaptured == true
            && (index as? any CapturedExpression)?.isCaptured == true
    }

    func lowered(in context: inout LoweringContext) throws -> Operand {
        guard isCaptured else { throw context.unsupported(self) }
        return try context.operand(evaluate(PredicateBindings()), in: self)
    }
}

extension PredicateExpressions.DictionaryKeySubscript: CapturedExpression, LowerableExpression {
    var isCaptured: Bool {
        (wrapped as? any CapturedExpression)?.isCaptured == true
            && (key as? any CapturedExpression)?.isCaptured == true
    }

    func lowered(in context: inout LoweringContext) throws -> Operand {
        guard isCaptured else { throw context.unsupported(self) }
        return try context.operand(evaluate(PredicateBindings()), in: self)
    }
}
