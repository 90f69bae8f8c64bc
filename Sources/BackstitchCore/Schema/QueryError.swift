import Foundation

/// Why a query can't be answered.
public struct QueryError: BackstitchError {
    /// The kinds of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        private init(_ name: String) { description = name }

        /// A predicate holds an expression that a store can't evaluate.
        public static let unsupportedExpression = Code("unsupportedExpression")
        /// The entity is not part of the store's schema.
        public static let unknownEntity = Code("unknownEntity")
        /// A condition or sort names something that is not a stored attribute.
        public static let unknownAttribute = Code("unknownAttribute")
        /// A condition compares an attribute with a value of another type, or a query uses an operation
        /// that the attribute's type lacks, such as a sum of texts or an order of lists.
        public static let typeMismatch = Code("typeMismatch")
        /// A limit or an offset is negative.
        public static let negativeCount = Code("negativeCount")
        /// A predicate unwraps nil with `!`.
        public static let unwrappedNil = Code("unwrappedNil")
        /// Arithmetic in a predicate leaves the range of its type, or divides by zero.
        public static let arithmeticOverflow = Code("arithmeticOverflow")
        /// A cursor was made with another query.
        public static let foreignCursor = Code("foreignCursor")
        /// The bytes of a row break the format.
        public static let damagedRow = Code("damagedRow")
    }

    /// The kind of failure.
    public let code: Code
    /// A message for developers that says what is wrong and what to do.
    public let message: String
    /// Nil: a query has no layer below it.
    public var cause: (any Error)? { nil }

    /// A failure by its parts.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
