public import Foundation

/// What all errors of Backstitch have in common: a code, a message that says what to do, and the
/// cause.
///
/// `localizedDescription` is the message, in English.
///
/// Codes are open: a later version may have new ones, so that a `switch` over them needs a default.
/// Two errors are equal if code and message are; the cause does not count.
public protocol BackstitchError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
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

    /// The message; the code if the service sent an error without words.
    public var errorDescription: String? { message.isEmpty ? "\(code)" : message }

    /// The first sentence of the message: it says what went wrong. Nil for an empty message.
    public var failureReason: String? {
        message.isEmpty ? nil : String(message[..<firstSentenceEnd])
    }

    /// The rest of the message, behind its first sentence. It says what to do. Nil if the message is one
    /// sentence.
    public var recoverySuggestion: String? {
        let rest = message[firstSentenceEnd...].drop(while: \.isWhitespace)
        return rest.isEmpty ? nil : String(rest)
    }

    /// The end of the first full stop that a capital letter follows.
    private var firstSentenceEnd: String.Index {
        var start = message.startIndex
        while let stop = message[start...].firstIndex(of: ".") {
            start = message.index(after: stop)
            let rest = message[start...]
            if rest.first?.isWhitespace == true,
                rest.first(where: { !$0.isWhitespace })?.isUppercase == true
            {
                return start
            }
        }
        return message.endIndex
    }

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
