import Foundation

/// A place in an order that the user chooses: an attribute that queries sort by.
///
/// There is a key between any two, so moving a record edits only that record, and moves of
/// different records on different devices merge. If two records are put at one place at the same
/// time, both stay, beside each other: the jitter makes their keys differ.
///
/// A key is a whole number and a fraction, in digits `0-9A-Za-z` that sort as ASCII. The first
/// character tells how many digits the number has (`a` one, `b` two, `Z` one below zero, `Y` two), so
/// that numbers sort as text too and keys at both ends of a list grow with its logarithm. Between two
/// others a key has a digit more for about five halvings. A fraction does not end with `0`.
public struct PositionKey: AttributeConvertible, Hashable {
    /// The text of the key, which is what is stored.
    public let stored: String

    /// The key with a text; nil for one that ``between(_:_:jitter:)`` could not have made.
    public init?(stored: String) {
        guard Parts(stored) != nil else { return nil }
        self.stored = stored
    }

    /// The key with a text that was checked.
    private init(checked text: String) { stored = text }

    /// How many digits the jitter has.
    static let jitterDigits = 4

    /// A key that sorts after one key and before another.
    ///
    /// If the two keys are equal, no key fits between them. The result then sorts after both.
    ///
    /// - Parameters:
    ///   - lower: The key before the place; nil for the start of the list.
    ///   - upper: The key after the place; nil for the end of the list.
    ///   - jitter: A random number, such as `.random(in: 0 ... .max)`; two devices that choose the
    ///     same place get the same key once in some 14 million times, and records with one key are
    ///     sorted by their names.
    /// - Throws: ``PositionKey/Failure`` if the first key sorts after the second.
    public static func between(
        _ lower: PositionKey?, _ upper: PositionKey?, jitter: UInt64
    ) throws(PositionKey.Failure) -> PositionKey {
        var high = upper?.parts
        if let lower, let upper {
            if upper < lower { throw .order(lower.stored, upper.stored) }
            if upper == lower { high = nil }
        }
        return PositionKey(checked: middle(lower?.parts, high).withJitter(jitter))
    }

    private var parts: Parts {
        guard let parts = Parts(stored) else {
            preconditionFailure("A position key was checked when it was made.")
        }
        return parts
    }

    private static func middle(_ low: Parts?, _ high: Parts?) -> Parts {
        switch (low, high) {
        case (nil, nil):
            return Parts(number: [Digits.zeroHead, 0], fraction: [])
        case (nil, let high?):
            guard let number = Digits.decremented(high.number) else {
                // There is no smaller number.
                return Parts(
                    number: high.number, fraction: Digits.middle([], high.fraction))
            }
            return Parts(number: number, fraction: [])
        case (let low?, let high):
            if let number = Digits.incremented(low.number),
                high.map({ number.lexicographicallyPrecedes($0.number) }) ?? true
            {
                return Parts(number: number, fraction: [])
            }
            let isOneNumber = high.map { $0.number == low.number } ?? false
            return Parts(
                number: low.number,
                fraction: Digits.middle(low.fraction, isOneNumber ? high?.fraction : nil))
        }
    }

    /// A key as its number, head included, and its fraction, in values of digits.
    struct Parts: Equatable {
        var number: [UInt8]
        var fraction: [UInt8]

        init(number: [UInt8], fraction: [UInt8]) {
            self.number = number
            self.fraction = fraction
        }

        init?(_ text: String) {
            let digits = text.utf8.map(Digits.value)
            guard let head = digits.first.flatMap({ $0 }), let count = Digits.count(ofHead: head),
                digits.count > count, !digits.contains(nil)
            else { return nil }
            let values = digits.compactMap { $0 }
            number = Array(values[0...count])
            fraction = Array(values[(count + 1)...])
            // Before the smallest number alone there is nothing.
            let hasNoneBefore = fraction.isEmpty && Digits.decremented(number) == nil
            if fraction.last == 0 || hasNoneBefore { return nil }
        }

        /// The text, with digits after it that depend on a number.
        func withJitter(_ jitter: UInt64) -> String {
            var rest = jitter
            var digits = number + fraction
            for position in 1...PositionKey.jitterDigits {
                let isLast = position == PositionKey.jitterDigits
                let count: UInt64 = isLast ? Digits.count - 1 : Digits.count
                digits.append(UInt8(rest % count) + (isLast ? 1 : 0))
                rest /= count
            }
            return String(decoding: digits.map(Digits.character), as: UTF8.self)
        }
    }
}

extension PositionKey: Comparable {
    /// Whether a key sorts before another.
    public static func < (left: PositionKey, right: PositionKey) -> Bool {
        left.stored.utf8.lexicographicallyPrecedes(right.stored.utf8)
    }
}

extension PositionKey: Codable {
    /// Reads a key from its text.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let key = PositionKey(stored: text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "'\(text)' is no position key."))
        }
        self = key
    }

    /// Writes the text of the key.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stored)
    }
}

extension PositionKey {
    /// Why there is no key for a position.
    public struct Failure: BackstitchError {
        /// The kinds of failure.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// The name of the code.
            public let description: String

            private init(_ name: String) { description = name }

            /// The first key sorts after the second.
            public static let wrongOrder = Code("wrongOrder")
        }

        /// The kind of failure.
        public let code: Code
        /// What is wrong with the keys, and what to do.
        public let message: String
        /// Always nil.
        public var cause: (any Error)? { nil }

        static func order(_ lower: String, _ upper: String) -> PositionKey.Failure {
            PositionKey.Failure(
                code: .wrongOrder,
                message: "'\(lower)' sorts after '\(upper)'. Give the key before the place first.")
        }
    }
}
