public import Foundation

/// A value of any attribute, for code that does not know the Swift types.
public enum Value: Hashable, Sendable {
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
    case location(Location)
    case list([Value])
    /// A value of a type that this version does not know.
    case unknown(UnknownValue)
}

extension Value {
    /// The bytes that the value's content takes in memory besides the value itself, roughly.
    var payloadByteCount: Int {
        switch self {
        case .null, .bool, .int64, .double, .date, .decimal, .uuid, .location: 0
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .reference(let key): key.byteCount
        case .list(let elements): elements.reduce(0) { $0 + 64 + $1.payloadByteCount }
        case .unknown(let value): value.typeName.utf8.count + value.json.utf8.count
        }
    }
}
