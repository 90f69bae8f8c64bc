public import BackstitchCore

/// A key of a view. Keys sort as their bytes, and a key made of values sorts as these do, one after
/// the other; a key made of the first values is a prefix of it.
public struct ViewKey: Hashable, Sendable {
    /// The most bytes of a key. A longer one is refused when it is put.
    public static let byteCountMax = 508

    /// The bytes that the key sorts by.
    public private(set) var bytes: [UInt8]

    /// The key with these bytes; none is a key too, and a prefix of all.
    public init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    /// The key of some values, in order.
    ///
    /// ```swift
    /// ViewKey(.string("engines"), .int64(2026))
    /// ```
    public init(_ values: RecordValue...) {
        bytes = []
        for value in values { append(value) }
    }

    /// Appends a value.
    ///
    /// Text and bytes sort and differ by their first 200 bytes, references by their first 203; text
    /// counts in normal form. Null sorts first. Places, lists and values of unknown
    /// types have no order and count as null.
    public mutating func append(_ value: RecordValue) {
        var buffer = ByteBuffer(capacity: 260)
        OrderedKey.append(value, type: value.orderedType, to: &buffer)
        unsafe bytes.append(contentsOf: buffer.bytes)
    }

    /// Appends bytes, unchanged.
    public mutating func append(bytes more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }
}

extension ViewKey: Comparable {
    /// Orders keys by their bytes.
    public static func < (left: ViewKey, right: ViewKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension RecordValue {
    /// The type in whose order the value sorts.
    package var orderedType: AttributeType {
        traits?.type ?? .location
    }
}
