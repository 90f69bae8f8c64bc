import Foundation

/// `Date`, in whole milliseconds since 1970, UTC.
enum DateTraits: IntegerTraits {
    static let type = AttributeType.date
    static let tag = FieldTag.date
    static let serviceType = ServiceFieldType.timestamp

    static func content(of value: RecordValue) -> Int64? {
        if case .date(let milliseconds) = value { milliseconds } else { nil }
    }

    static func value(_ content: Int64) -> RecordValue { .date(milliseconds: content) }

    static func violation(of content: Int64) -> String? {
        content.magnitude < millisecondsMax
            ? nil : "the time is out of the range that can be stored"
    }

    /// As for times of a Swift type.
    private static let millisecondsMax: UInt64 = 1_000_000_000_000_000

    static func serviceValue(_ content: Int64, isLossless: Bool) -> ServiceValue {
        .timestamp(milliseconds: content)
    }

    static func text(_ content: Int64) -> String { "\(content) ms" }

    /// A day, or a time with or without a fraction of a second.
    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        guard isQuoted else { return nil }
        let style = Date.ISO8601FormatStyle()
        let date =
            (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
            ?? (try? style.parse(text)) ?? (try? style.year().month().day().parse(text))
        return date.map {
            .date(milliseconds: Int64(($0.timeIntervalSince1970 * 1000).rounded()))
        }
    }

    static let literalExample = "'2025-01-31' or '2025-01-31T12:00:00Z'"
}
