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
    /// `Decimal`; DOUBLE on the service (about 15 digits), or STRING if the attribute says so.
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
    /// ``GeoLocation``; LOCATION on the service.
    case location = 14
    /// `Duration` in whole nanoseconds; INT64 on the service.
    case duration = 15
    /// ``Asset``, a file; ASSETID on the service.
    case asset = 16

    // Lists have the number of their elements' type and 32.

    /// `[String]`; STRING_LIST on the service.
    case stringList = 33
    /// `[Bool]`; INT64_LIST on the service.
    case boolList = 34
    /// `[Int16]`; INT64_LIST on the service.
    case int16List = 35
    /// `[Int32]`; INT64_LIST on the service.
    case int32List = 36
    /// `[Int64]` and `[Int]`; INT64_LIST on the service.
    case int64List = 37
    /// `[Float]`; DOUBLE_LIST on the service.
    case floatList = 38
    /// `[Double]`; DOUBLE_LIST on the service.
    case doubleList = 39
    /// `[Decimal]`; DOUBLE_LIST on the service, or STRING_LIST if the attribute says so.
    case decimalList = 40
    /// `[Date]`; TIMESTAMP_LIST on the service.
    case dateList = 41
    /// `[Data]`; BYTES_LIST on the service.
    case dataList = 42
    /// `[UUID]`; STRING_LIST on the service.
    case uuidList = 43
    /// `[URL]`; STRING_LIST on the service.
    case urlList = 44
    /// `[GeoLocation]`; LOCATION_LIST on the service.
    case locationList = 46
    /// `[Duration]`; INT64_LIST on the service.
    case durationList = 47
    /// `[Asset]`; ASSETID_LIST on the service.
    case assetList = 48

    private static let listOffset: UInt8 = 32

    /// The type of a list's elements; nil for types that are no lists.
    public var element: AttributeType? {
        rawValue > Self.listOffset ? AttributeType(rawValue: rawValue - Self.listOffset) : nil
    }

    /// The type of lists of this type, or nil for a list.
    public var list: AttributeType? {
        rawValue < Self.listOffset ? AttributeType(rawValue: rawValue + Self.listOffset) : nil
    }

    /// Whether an index can keep values of the type in order.
    package var isOrdered: Bool { traits?.isOrdered ?? false }
}
