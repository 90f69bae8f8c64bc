public import Foundation

/// A value of any attribute, for code that does not know the Swift types.
public enum RecordValue: Hashable, Sendable {
    /// No value. A field that is absent and a field that is null are the same in a store.
    case null
    case bool(Bool)
    case int64(Int64)
    case double(Double)
    case string(String)
    case bytes(Data)
    /// A time in whole milliseconds since 1970, UTC.
    case date(milliseconds: Int64)
    case decimal(Decimal)
    case uuid(UUID)
    case reference(RecordKey)
    case location(GeoLocation)
    /// A span of time in whole nanoseconds.
    case duration(nanoseconds: Int64)
    /// A file.
    indirect case asset(Asset)
    case list([RecordValue])
    /// A value of a type that this version does not know.
    case unknown(UnknownValue)
}

extension RecordValue {
    /// The tag that the value is stored under.
    var tag: FieldTag {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int64: .int64
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .date: .date
        case .decimal: .decimal
        case .uuid: .uuid
        case .reference: .reference
        case .location: .location
        case .duration: .duration
        case .asset: .asset
        case .list: .list
        case .unknown: .unknown
        }
    }

    /// Whether the value is a file, or a list with one.
    package var holdsAssets: Bool {
        switch self {
        case .asset: true
        case .list(let elements): elements.contains(where: \.holdsAssets)
        default: false
        }
    }

    /// The bytes that the value's content takes in memory besides the value itself, roughly.
    var payloadByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .reference(let key): key.byteCount
        case .list(let elements): elements.reduce(0) { $0 + 64 + $1.payloadByteCount }
        case .unknown(let value): value.typeName.utf8.count + value.json.utf8.count
        case .asset: 192
        default: 0
        }
    }
}
