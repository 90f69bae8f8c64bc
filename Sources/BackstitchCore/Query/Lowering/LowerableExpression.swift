import Foundation

/// An expression of a `Predicate` that can become an operand over encoded rows.
///
/// All expression types that Foundation has conform, whatever they are made of; a part that can't
/// be lowered is found when it is its turn, and named in the error.
protocol LowerableExpression {
    func lowered(in context: inout LoweringContext) throws -> Operand
}

/// What the variables and key paths of one predicate stand for.
struct LoweringContext {
    /// What each variable stands for; nil is the record itself.
    var variables: [PredicateExpressions.VariableID: Operand?]
    /// The attribute at a key path of the model, or the record key at that of `id`.
    let attribute: (AnyKeyPath) -> Operand?
    /// The entity's name, for errors.
    let entityName: String
    /// How many lists a test is inside of.
    var listDepth = 0

    mutating func lower(_ expression: any PredicateExpression) throws -> Operand {
        guard let lowerable = expression as? any LowerableExpression else {
            throw unsupported(expression)
        }
        return try lowerable.lowered(in: &self)
    }

    mutating func condition(_ expression: any PredicateExpression) throws -> Condition {
        switch try lower(expression) {
        case .condition(let condition): condition
        case .constant(.bool(let truth)): .constant(truth)
        case let operand: .test(operand)
        }
    }

    /// The text that a constant expression holds, a single character among them.
    mutating func text(_ expression: any PredicateExpression) throws -> Operand {
        if let character = try constant(expression) as? Character {
            return .constant(.string(String(character)))
        }
        return try lower(expression)
    }

    /// The value of an expression that depends on no variable; nil for other expressions.
    func constant(_ expression: any PredicateExpression) throws -> Any? {
        guard let captured = expression as? any CapturedExpression, captured.isCaptured else {
            return nil
        }
        return try expression.evaluate(PredicateBindings())
    }

    /// The constant operand for a captured value.
    func operand<Captured>(_ value: Captured, in expression: Any) throws -> Operand {
        .constant(try self.value(of: value, in: expression))
    }

    /// A captured value as it would be saved.
    func value<Captured>(of value: Captured, in expression: Any) throws -> RecordValue {
        guard let type = Captured.self as? any AttributeValue.Type,
            let value = try Self.value(value, as: type)
        else { throw unsupported(expression, named: "a value of the type \(Captured.self)") }
        return value
    }

    private static func value<Attribute: AttributeValue>(
        _ value: Any, as type: Attribute.Type
    ) throws -> RecordValue? {
        try (value as? Attribute).map { try RecordValue(comparing: $0) }
    }

    /// The error for an expression that can't be lowered.
    ///
    /// - Parameter name: What the developer wrote; nil if it follows from the type of the expression.
    func unsupported(
        _ expression: Any, named name: String? = nil, because reason: String? = nil
    ) -> QueryError {
        let type = String(describing: Swift.type(of: expression))
        let kind = String(type.prefix { $0 != "<" })
        return QueryError(
            .unsupportedExpression,
            "A query of \(entityName) can't evaluate \(name ?? Self.written[kind] ?? kind)"
                + (reason.map { " because \($0)" } ?? "") + ". "
                + "Supported are comparisons of stored attributes, id and constants, && || !, nil "
                + "checks, optional chaining, ??, !, ? :, contains, starts(with:), "
                + "contains(where:) and allSatisfy of lists, ranges, count and isEmpty of text, data "
                + "and lists, and arithmetic. Fetch with what is supported and "
                + "filter the result in Swift.")
    }

    /// The error for a property of a reference, which is an id and not the record with it.
    func unsupportedProperty(ofReference name: String) -> QueryError {
        QueryError(
            .unsupportedExpression,
            "The predicate asks '\(name)' of \(entityName) for a property, and '\(name)' is the id of a record, not the "
                + "record itself. Ask the record: where(\\.\(name), fulfils: #Predicate { … }), with a "
                + "predicate of the entity that '\(name)' refers to.")
    }

    /// What the developer wrote where a predicate has an expression of a type, if that has another name.
    private static let written = [
        "ClosedRange": "a range", "CollectionContainsCollection": "contains(collection)",
        "CollectionIndexSubscript": "[index]", "CollectionRangeSubscript": "[range]",
        "ConditionalCast": "as?", "DictionaryKeyDefaultValueSubscript": "[key, default:]",
        "DictionaryKeySubscript": "[key]", "ExpressionEvaluate": "evaluate(_:)", "Filter": "filter",
        "FloatDivision": "/ of these types", "ForceCast": "a forced cast",
        "IntDivision": "/ of these types", "IntRemainder": "% of these types",
        "Arithmetic": "+, - or * of these types", "PartialRangeFrom": "a range",
        "PartialRangeThrough": "a range", "PartialRangeUpTo": "a range",
        "PredicateEvaluate": "evaluate(_:)", "Range": "a range",
        "RangeExpressionContains": "contains of this range", "SequenceAllSatisfy": "allSatisfy",
        "SequenceContains": "contains", "SequenceContainsWhere": "contains(where:)",
        "SequenceMaximum": "max()", "SequenceMinimum": "min()",
        "SequenceStartsWith": "starts(with:)",
        "StringCaseInsensitiveCompare": "caseInsensitiveCompare",
        "StringContainsRegex": "contains(regex)", "StringLocalizedCompare": "localizedCompare",
        "StringLocalizedStandardContains": "localizedStandardContains", "TypeCheck": "is",
        "UnaryMinus": "- of this type", "Variable": "the record itself",
    ]
}
