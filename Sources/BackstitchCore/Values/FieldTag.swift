/// The first byte of a stored field value: how the bytes after it are to be read.
///
/// The raw values are part of the stored format and never change.
@usableFromInline
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
    /// Nanoseconds as a little-endian `Int64`.
    case duration = 12
    /// A little-endian 16-bit byte count and the name of the type in UTF-8, then JSON.
    case unknown = 13
    /// A file: what it has, its size, then hash and texts; see `AssetTraits`.
    case asset = 14

    /// The name of the kind, in JSON and in messages.
    var name: String { "\(self)" }

    /// Whether a newer version may have written a value with this byte: those up to 15 are reserved.
    @usableFromInline static func isReserved(_ byte: UInt8) -> Bool { byte <= 15 }

    /// How many bytes the payloads behind a tag byte have, where all have as many.
    @inlinable
    package static func fixedBytes(_ tag: UInt8) -> Int? {
        switch tag {
        case 0: 0
        case 1: 1
        case 2, 3, 6, 12: 8
        case 8, 10: 16
        default: nil
        }
    }

    /// The tag of a stored byte; nil if no tag has it.
    ///
    /// Spelled out, so that it is inlined where rows are decoded: the compiler's own is not.
    @inlinable
    package init?(rawValue: UInt8) {
        switch rawValue {
        case 0: self = .null
        case 1: self = .bool
        case 2: self = .int64
        case 3: self = .double
        case 4: self = .string
        case 5: self = .bytes
        case 6: self = .date
        case 7: self = .decimal
        case 8: self = .uuid
        case 9: self = .reference
        case 10: self = .location
        case 11: self = .list
        case 12: self = .duration
        case 13: self = .unknown
        case 14: self = .asset
        default: return nil
        }
    }
}
