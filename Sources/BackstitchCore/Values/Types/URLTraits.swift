import Foundation

/// `URL`, kept as its text.
enum URLTraits: TextTraits {
    static let type = AttributeType.url
    static let readsAll = false

    static func value(service value: Value) -> Value? { isReadable(value) ? value : nil }

    static func isReadable(_ value: Value) -> Bool {
        content(of: value).map { URL(string: $0) != nil } ?? false
    }

    static func saved(_ value: Value) throws(ValueMisfit) -> Value {
        if value != .null, !isReadable(value) { throw ValueMisfit(reason: "the text is no URL") }
        return value
    }
}
