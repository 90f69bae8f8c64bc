/// What all errors of Backstitch have in common: a code, a message that says what to do, and the
/// cause.
///
/// Codes are open: a later version may have new ones, so that a `switch` over them needs a default.
/// Two errors are equal if code and message are; the cause does not count.
public protocol BackstitchError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    associatedtype Code: Hashable, Sendable, CustomStringConvertible

    /// What kind of failure it is.
    var code: Code { get }
    /// What went wrong and what to do, for a developer; without values of users.
    var message: String { get }
    /// What another layer threw, if the failure comes from there.
    var cause: (any Error)? { get }
}

extension BackstitchError {
    /// The code and the message.
    public var description: String { message.isEmpty ? "\(code)" : "\(code): \(message)" }

    /// Whether two errors have the same code and message.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message
    }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}
