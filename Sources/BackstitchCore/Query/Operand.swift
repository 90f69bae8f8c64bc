/// What a condition computes from a row: an attribute, a constant, or something made of them.
///
/// Null is the nil of every optional type.
package indirect enum Operand: Hashable, Sendable {
    case constant(RecordValue)
    /// A time between this whole millisecond and the next, which no stored time equals.
    case instant(afterMilliseconds: Int64)
    /// The effective value of an attribute.
    case attribute(String)
    /// The record's own key, as a reference.
    case recordKey
    /// The truth of a condition.
    case condition(Condition)
    /// The first operand, or the second if the first is null: `??`.
    case coalesce(Operand, Operand)
    /// The operand, or an error if it is null: `!`.
    case unwrapped(Operand)
    /// The second operand, or null if the first is null: optional chaining.
    case chained(Operand, Operand)
    /// One of two operands, depending on a condition.
    case conditional(Condition, Operand, Operand)
    /// A calculation in the given type; null if an operand is.
    case arithmetic(Arithmetic, Operand, Operand, AttributeType)
    /// The number of characters of a text, or of bytes of data.
    case count(Operand)
}

/// A calculation with two numbers.
package enum Arithmetic: String, Hashable, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "×"
    case divide = "÷"
    case remainder = "mod"
}
