/// The first byte of a stored field value: how the bytes after it are to be read.
///
/// The raw values are part of the stored format and never change.
package enum FieldTag: UInt8, Sendable {
    /// No payload.
    case null = 0
    /// One byte, 0 or 1.
    case bool = 1
    /// Eight bytes, little-endian.
    case int64 = 2
    /// Eight bytes, IEEE 754, little-endian.
    case double = 3
    /// UTF-8 to the end of the field.
    case string = 4
    /// Bytes to the end of the field.
    case bytes = 5
    /// Milliseconds since 1970 as a little-endian `Int64`.
    case date = 6
    /// The shortest decimal text in ASCII, as `Decimal.description` prints it.
    case decimal = 7
    /// Sixteen bytes.
    case uuid = 8
    /// A stored record key.
    case reference = 9
    /// Latitude and longitude, a double each.
    case location = 10
    /// For each element a little-endian 32-bit byte count, then its tag and payload.
    case list = 11
}
