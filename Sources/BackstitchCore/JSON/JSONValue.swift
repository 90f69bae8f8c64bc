/// A JSON value (RFC 8259) that keeps numbers as they are spelled and members in their order.
package enum JSONValue: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue
    }

    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    /// The names differ.
    case object([Member])
}

/// Why bytes are no JSON value.
package struct JSONError: Error, Hashable, Sendable {
    /// What is wrong.
    package let message: String
    /// Where, in bytes from the start.
    package let offset: Int
}
