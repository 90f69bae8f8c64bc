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
}
