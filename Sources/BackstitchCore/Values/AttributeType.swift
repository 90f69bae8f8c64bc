/// The type of a stored attribute.
///
/// The raw values are part of the stored catalog and never change.
public enum AttributeType: UInt8, Sendable, Hashable, CaseIterable, Codable, BitwiseCopyable {
    /// `String`; STRING on the service.
    case string = 1
    /// `Bool`; INT64 on the service, 0 or 1.
    case bool = 2
    /// `Int16`; INT64 on the service.
    case int16 = 3
    /// `Int32`; INT64 on the service.
    case int32 = 4
    /// `Int64` and `Int`; INT64 on the service.
    case int64 = 5
    /// `Float`; DOUBLE on the service.
    case float = 6
    /// `Double`; DOUBLE on the service.
    case double = 7
    /// `Decimal`; DOUBLE on the service (about 15 digits), or STRING where the attribute says so.
    case decimal = 8
    /// `Date` in whole milliseconds; TIMESTAMP on the service.
    case date = 9
    /// `Data`; BYTES on the service.
    case data = 10
    /// `UUID`; STRING on the service.
    case uuid = 11
    /// `URL`; STRING on the service.
    case url = 12
    /// The id of another record; REFERENCE on the service.
    case reference = 13
}
