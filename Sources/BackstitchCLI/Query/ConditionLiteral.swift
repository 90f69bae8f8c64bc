import Backstitch
import Foundation

/// What a literal means beside an attribute of a type.
enum ConditionLiteral {
    struct Misfit: Error {
        let message: String
    }

    static func value(
        _ token: ConditionToken.Kind, as type: AttributeType
    ) throws(Misfit) -> Value {
        let value: Value?
        switch token {
        case .word(let word):
            switch word.lowercased() {
            case "null": return .null
            case "true" where type == .bool: value = .bool(true)
            case "false" where type == .bool: value = .bool(false)
            default: value = nil
            }
        case .number(let text): value = number(text, as: type)
        case .string(let text): value = string(text, as: type)
        default: throw Misfit(message: "Here a value is missing.")
        }
        guard let value else {
            throw Misfit(message: "This is no \(type). Write it as \(example(of: type)).")
        }
        return value
    }

    private static func number(_ text: String, as type: AttributeType) -> Value? {
        switch type {
        case .int16, .int32, .int64: Int64(text).map { .int64($0) }
        case .float, .double:
            Double(text).flatMap { $0.isFinite && !text.hasPrefix("0x") ? .double($0) : nil }
        case .decimal: Double(text) == nil ? nil : Decimal(string: text).map { .decimal($0) }
        case .bool: text == "0" || text == "1" ? .bool(text == "1") : nil
        default: nil
        }
    }

    private static func string(_ text: String, as type: AttributeType) -> Value? {
        switch type {
        case .string, .url: .string(text)
        case .date: date(text).map { .date(milliseconds: $0) }
        case .uuid: UUID(uuidString: text).map { .uuid($0) }
        case .reference: .reference(RecordKey(RecordName(text)))
        case .data: Data(base64Encoded: text).map { .bytes($0) }
        default: nil
        }
    }

    /// The milliseconds since 1970 of a day, or of a time with or without a fraction of a second.
    private static func date(_ text: String) -> Int64? {
        let style = Date.ISO8601FormatStyle()
        let date =
            (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
            ?? (try? style.parse(text)) ?? (try? style.year().month().day().parse(text))
        return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }

    private static func example(of type: AttributeType) -> String {
        switch type {
        case .string, .url: "'text'"
        case .bool: "true or false"
        case .int16, .int32, .int64: "42"
        case .float, .double, .decimal: "4.5"
        case .date: "'2025-01-31' or '2025-01-31T12:00:00Z'"
        case .data: "Base64 in quotes"
        case .uuid: "'00000000-0000-0000-0000-000000000000'"
        case .reference: "a record name in quotes"
        default: "null; locations and lists are compared with nothing else"
        }
    }
}
