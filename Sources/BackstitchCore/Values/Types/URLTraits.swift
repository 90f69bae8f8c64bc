import Foundation

/// `URL`, kept as its text.
enum URLTraits: TextTraits {
    static let type = AttributeType.url
    static let readsAll = false

    static func value(service value: RecordValue) -> RecordValue? {
        isReadable(value) ? value : nil
    }

    static func isReadable(_ value: RecordValue) -> Bool {
        content(of: value).map { URL(string: $0) != nil } ?? false
    }

    static func saved(_ value: RecordValue) throws(ValueError) -> RecordValue {
        if value != .null, !isReadable(value) { throw ValueError(reason: "the text is no URL") }
        return value
    }
}
