import Glibc

/// The last change of a key among those that wait. Key and value lie in a ``JournalBlock``.
@usableFromInline
struct OverlayEntry {
    /// The first bytes of the key as a number, so that most comparisons need no more.
    let prefix: UInt64
    let key: UnsafeRawPointer
    let number: UInt64
    let valueCount: UInt32
    let keyCount: UInt16
    let change: JournalChange

    init(
        key: UnsafeRawPointer, keyCount: Int, valueCount: Int, number: UInt64,
        change: JournalChange
    ) {
        prefix = Self.prefix(UnsafeRawBufferPointer(start: key, count: keyCount))
        self.key = key
        self.number = number
        self.valueCount = UInt32(valueCount)
        self.keyCount = UInt16(keyCount)
        self.change = change
    }

    var keyBytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: key, count: Int(keyCount))
    }

    /// The value follows the key.
    var valueBytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: key + Int(keyCount), count: Int(valueCount))
    }

    /// The first eight bytes of a key, with zeros behind a shorter one: where two of these differ,
    /// the keys sort as they do.
    static func prefix(_ key: UnsafeRawBufferPointer) -> UInt64 {
        if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
        var prefix: UInt64 = 0
        for (index, byte) in key.enumerated() { prefix |= UInt64(byte) << UInt64(56 - 8 * index) }
        return prefix
    }

    /// Whether the key sorts before (< 0), with or behind (> 0) another.
    func order(prefix other: UInt64, _ key: UnsafeRawBufferPointer) -> Int {
        if prefix != other { return prefix < other ? -1 : 1 }
        return Self.order(keyBytes, key)
    }

    /// Whether a key sorts before (< 0), with or behind (> 0) another.
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        if common > 0, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left, right, common)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }
}
