import Foundation

/// `Duration`, in whole nanoseconds.
enum DurationTraits: IntegerTraits {
    static let type = AttributeType.duration
    static let tag = FieldTag.duration
    static let isNumber = true

    static func content(of value: RecordValue) -> Int64? {
        if case .duration(let nanoseconds) = value { nanoseconds } else { nil }
    }

    static func value(_ content: Int64) -> RecordValue { .duration(nanoseconds: content) }

    // A number that came from the service before the type was declared.
    static func value(stored field: _FieldValue) -> RecordValue? {
        (try? Duration(_field: field))?._recordValue
    }

    static func value(service value: RecordValue) -> RecordValue? {
        if case .int64(let nanoseconds) = value { return .duration(nanoseconds: nanoseconds) }
        return converted(value)
    }

    static func isReadable(_ value: RecordValue) -> Bool { self.value(service: value) != nil }

    static func mean(ofSum sum: Int128, count: Int) -> RecordValue {
        .duration(nanoseconds: Int64(sum / Int128(count)))
    }

    static func text(_ content: Int64) -> String { "\(Duration.nanoseconds(content))" }

    /// A number with a unit; exact, to whole nanoseconds.
    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        guard !isQuoted, let unit = units.first(where: { text.hasSuffix($0.name) }),
            let number = try? TaggedJSON.decimal(String(text.dropLast(unit.name.count))),
            let nanoseconds = Int64("\(number * unit.nanoseconds)")
        else { return nil }
        return .duration(nanoseconds: nanoseconds)
    }

    private static let units: [(name: String, nanoseconds: Decimal)] = [
        ("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000),
        ("min", 60_000_000_000), ("h", 3_600_000_000_000),
    ]

    static let literalExample = "1.5s, or another number with ns, us, ms, s, min or h"
}

extension Duration: ScalarAttributeValue {
    /// `duration`.
    public static var _attributeType: AttributeType { .duration }

    /// Reads a stored duration, or a stored number of nanoseconds.
    public init(_field field: _FieldValue) throws {
        guard field.tag == .duration || field.tag == .int64 else { throw field.mismatch() }
        self = unsafe .nanoseconds(try DurationTraits.content(stored: field.payload))
    }

    /// Writes the duration, rounded to whole nanoseconds; throws if it is longer than some 292 years.
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(value: _recordValue, at: index)
    }

    /// `duration`, or null if 64 bits do not hold its nanoseconds.
    public var _recordValue: RecordValue {
        let (seconds, attoseconds) = components
        let nanoseconds = (attoseconds + (attoseconds < 0 ? -1 : 1) * 500_000_000) / 1_000_000_000
        return Int64(exactly: Int128(seconds) * 1_000_000_000 + Int128(nanoseconds))
            .map { .duration(nanoseconds: $0) } ?? .null
    }
}
