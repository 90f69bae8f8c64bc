/// `Int64` and `Int`.
enum Int64Traits: WholeNumberTraits {
    static let type = AttributeType.int64
    static func isInRange(_ number: Int64) -> Bool { true }
}

/// The types that keep their values as numbers of 64 bits.
protocol WholeNumberTraits: IntegerTraits {
    /// Whether the Swift type has the number.
    static func isInRange(_ number: Int64) -> Bool
}

extension WholeNumberTraits {
    static var tag: FieldTag { .int64 }

    static func content(of value: RecordValue) -> Int64? {
        if case .int64(let number) = value { number } else { nil }
    }

    static func value(_ content: Int64) -> RecordValue { .int64(content) }

    static func value(stored field: _FieldValue) -> RecordValue? {
        field.storedInt64.map { .int64($0) }
    }

    static func value(service value: RecordValue) -> RecordValue? {
        content(of: value).flatMap { isInRange($0) ? value : nil }
    }

    static func isReadable(_ value: RecordValue) -> Bool {
        if case .bool = value { return true }
        return content(of: value).map(isInRange) ?? false
    }

    static var readsAll: Bool { type == .int64 }

    static func saved(_ value: RecordValue) throws(ValueError) -> RecordValue {
        if let number = content(of: value), !isInRange(number) {
            throw ValueError(reason: "the number is out of the range of \(type)")
        }
        return value
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        isQuoted ? nil : Int64(text).map { .int64($0) }
    }

    static var literalExample: String { "42" }
    static var isNumber: Bool { true }
}
