/// What a condition computes from a row: an attribute, a constant, or something made of them.
///
/// Null is the nil of every optional type.
package indirect enum Operand: Hashable, Sendable {
    case constant(RecordValue)
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
    /// The number of characters of a text, of bytes of data, or of elements of a list.
    case count(Operand)
    /// An operand of the record that a reference points to; null if no record is there.
    case related(String, Operand)
    /// The element of a list that a condition is asked of: the list at a depth among those that are
    /// gone through. The type is known from the list when the names are resolved.
    case element(depth: Int, AttributeType?)
}

extension Operand {
    /// What stands for the element of the list that a condition is asked of.
    package static let elementPath = "*"

    /// An attribute by its name, the element of a list, or one of a related record by names with dots: `boss.boss.age`.
    package init(path: String) {
        guard path != Self.elementPath else {
            self = .element(depth: 0, nil)
            return
        }
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        self = .attribute(names[names.count - 1])
        for name in names.dropLast().reversed() { self = .related(name, self) }
    }
}

/// A calculation with two numbers.
package enum Arithmetic: String, Hashable, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "×"
    case divide = "÷"
    case remainder = "mod"
}
