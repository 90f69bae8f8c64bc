import Foundation

/// An expression that may stand for a captured value, so that it can be evaluated beforehand.
protocol CapturedExpression {
    /// Whether the expression depends on no variable.
    var isCaptured: Bool { get }
}

extension PredicateExpressions.Value: CapturedExpression, LowerableExpression {
    var isCaptured: Bool { true }

    func lowered(in context: inout LoweringContext) throws -> Operand {
        try context.operand(value, in: self)
    }
}

extension PredicateExpressions.NilLiteral: CapturedExpression, LowerableExpression {
    var isCaptured: Bool { true }

    func lowered(in context: inout LoweringContext) throws -> Operand { .constant(.null) }
}

extension PredicateExpressions.KeyPath: CapturedExpression, LowerableExpression {
    var isCaptured: Bool { (root as? any CapturedExpression)?.isCaptured == true }

    func lowered(in context: inout LoweringContext) throws -> Operand {
        if isCaptured { return try context.operand(evaluate(PredicateBindings()), in: self) }
        if let variable = root as? PredicateExpressions.Variable<Root.Output>,
            case .some(.none) = context.variables[variable.key]
        {
            guard let operand = context.attribute(keyPath) else {
                throw (keyPath as AnyKeyPath).unknown(in: context.entityName)
            }
            return operand
        }
        if Root.Output.self is any _EmbeddableValue.Type, let path = modelPath(in: context) {
            guard let operand = context.attribute(path) else {
                throw path.unknown(in: context.entityName)
            }
            return operand
        }
        switch keyPath as AnyKeyPath {
        case \String.count, \Data.count:
            return .count(try context.lower(root))
        case \String.isEmpty, \Data.isEmpty:
            let count = Operand.count(try context.lower(root))
            return .condition(.comparison(count, .equal, .constant(.int64(0))))
        case let path where (Root.Output.self as? any CountedList.Type)?.isCount(path) == true:
            return .count(try context.lower(root))
        case let path where (Root.Output.self as? any CountedList.Type)?.isEmptiness(path) == true:
            let count = Operand.count(try context.lower(root))
            return .condition(.comparison(count, .equal, .constant(.int64(0))))
        default:
            throw try unsupported(in: &context)
        }
    }

    /// The error for a property that no condition can ask for.
    private func unsupported(in context: inout LoweringContext) throws -> QueryError {
        if Root.Output.self is any RecordReference.Type {
            switch try context.lower(root) {
            case .attribute(let name), .unwrapped(.attribute(let name)):
                return context.unsupportedProperty(ofReference: name)
            case .recordKey:
                return context.unsupported(self, named: "a property of id: compare the id itself")
            default:
                break
            }
        }
        let text = "\(keyPath)"
        return context.unsupported(
            self, named: text.contains("<computed") ? "a property of \(Root.Output.self)" : text)
    }
}

/// A list that attributes can have.
private protocol CountedList {
    /// Whether a key path is that of its count.
    static func isCount(_ path: AnyKeyPath) -> Bool
    /// Whether a key path is that of `isEmpty`.
    static func isEmptiness(_ path: AnyKeyPath) -> Bool
}

extension Array: CountedList where Element: ScalarAttributeValue {
    static func isCount(_ path: AnyKeyPath) -> Bool { path == \Self.count }
    static func isEmptiness(_ path: AnyKeyPath) -> Bool { path == \Self.isEmpty }
}

/// A property of the record, or of a struct that is embedded in it.
protocol ModelPathExpression {
    /// The key path that begins with the record; nil if the expression begins with anything else.
    func modelPath(in context: LoweringContext) -> AnyKeyPath?
}

extension PredicateExpressions.KeyPath: ModelPathExpression {
    func modelPath(in context: LoweringContext) -> AnyKeyPath? {
        if let variable = root as? PredicateExpressions.Variable<Root.Output>,
            case .some(.none) = context.variables[variable.key]
        {
            return keyPath
        }
        let base = (root as? any ModelPathExpression)?.modelPath(in: context)
        return base?.appending(path: keyPath)
    }
}

extension PredicateExpressions.ForceCast: CapturedExpression, LowerableExpression {
    var isCaptured: Bool { (input as? any CapturedExpression)?.isCaptured == true }

    func lowered(in context: inout LoweringContext) throws -> Operand {
        guard isCaptured else { throw context.unsupported(self) }
        return try context.operand(evaluate(PredicateBindings()), in: self)
    }
}

extension PredicateExpressions.Variable: LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand {
        guard case .some(.some(let operand)) = context.variables[key] else {
            throw context.unsupported(self)
        }
        return operand
    }
}
