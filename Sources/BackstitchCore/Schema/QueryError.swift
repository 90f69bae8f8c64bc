/// Why a query can't be answered.
public struct QueryError: Error, Hashable, Sendable {
    /// The kinds of failure.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A predicate holds an expression that a store can't evaluate.
        case unsupportedExpression
        /// The entity is not part of the store's schema.
        case unknownEntity
        /// A condition or sort names something that is not a stored attribute.
        case unknownAttribute
        /// A condition compares an attribute with a value of another type, or a query asks what its
        /// type does not have: a sum of text, an order of lists.
        case typeMismatch
        /// A limit or an offset is negative.
        case negativeCount
        /// A predicate unwraps nil with `!`.
        case unwrappedNil
        /// Arithmetic in a predicate leaves the range of its type, or divides by zero.
        case arithmeticOverflow
        /// A cursor was made with another query.
        case foreignCursor
        /// The bytes of a row break the format.
        case damagedRow
    }

    /// The kind of failure.
    public let code: Code
    /// A message for developers that says what is wrong and what to do.
    public let message: String

    /// A failure by its parts.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension QueryError: CustomStringConvertible {
    /// The code and the message.
    public var description: String { "\(code.rawValue): \(message)" }
}
