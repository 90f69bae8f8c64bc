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
        if let date = value as? Date { return try operand(of: date, in: expression) }
        guard let type = Captured.self as? any AttributeValue.Type,
            let value = Self.value(value, as: type)
        else { throw unsupported(expression) }
        return .constant(value)
    }

    private func operand(of date: Date, in expression: Any) throws -> Operand {
        switch TimeConstant(date) {
        case .whole(let milliseconds): return .constant(.date(milliseconds: milliseconds))
        case .after(let milliseconds): return .instant(afterMilliseconds: milliseconds)
        case nil: throw unsupported(expression, because: "the date is not a number")
        }
    }

    private static func value<Attribute: AttributeValue>(
        _ value: Any, as type: Attribute.Type
    ) -> RecordValue? {
        (value as? Attribute)?._recordValue
    }

    /// The error for an expression that can't be lowered.
    func unsupported(_ expression: Any, because reason: String? = nil) -> QueryError {
        let type = String(describing: Swift.type(of: expression))
        let name = type.prefix { $0 != "<" }
        return QueryError(
            .unsupportedExpression,
            "A query of \(entityName) can't evaluate \(name)"
                + (reason.map { " because \($0)" } ?? "") + ". "
                + "Supported are comparisons of stored attributes, id and constants, && || !, nil "
                + "checks, optional chaining, ??, !, ? :, contains, starts(with:), "
                + "contains(where:) and allSatisfy of lists, ranges, count and isEmpty of text, data "
                + "and lists, and arithmetic. Fetch with what is supported and "
                + "filter the result in Swift.")
    }
}

/// A `Date` constant beside the whole milliseconds that are stored.
enum TimeConstant {
    case whole(milliseconds: Int64)
    case after(milliseconds: Int64)

    /// Nil for a date that is not a number.
    init?(_ date: Date) {
        let limit: Int64 = 1_000_000_000_000_000
        let rounded = (date.timeIntervalSince1970 * 1000).rounded()
        guard !rounded.isNaN else { return nil }
        guard abs(rounded) < Double(limit) else {
            self = .after(milliseconds: rounded < 0 ? -limit : limit)
            return
        }
        let milliseconds = Int64(rounded)
        let stored = Date(milliseconds: milliseconds)
        self =
            stored == date
            ? .whole(milliseconds: milliseconds)
            : .after(milliseconds: date < stored ? milliseconds - 1 : milliseconds)
    }
}
