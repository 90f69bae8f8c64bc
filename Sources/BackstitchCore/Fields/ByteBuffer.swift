/// A growing buffer of raw bytes that is used again and again, so that encoding allocates nothing.
public struct ByteBuffer: ~Copyable {
    @usableFromInline package private(set) var base: UnsafeMutableRawPointer
    @usableFromInline package private(set) var count = 0
    private var capacity: Int

    /// An empty buffer with room for `capacity` bytes.
    package init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        base = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit { base.deallocate() }

    /// The bytes so far; valid until the buffer changes.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Forgets the bytes and keeps the room.
    package mutating func removeAll() { count = 0 }

    /// Forgets the bytes after the first `newCount`.
    package mutating func truncate(to newCount: Int) {
        precondition(newCount <= count, "A buffer can't be truncated to more than it holds.")
        count = newCount
    }

    /// Makes room for `more` bytes behind the end and returns where they start.
    package mutating func extend(by more: Int) -> UnsafeMutableRawPointer {
        let needed = count + more
        if needed > capacity {
            let larger = max(needed, capacity * 2)
            let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
            moved.copyMemory(from: base, byteCount: count)
            base.deallocate()
            base = moved
            capacity = larger
        }
        defer { count = needed }
        return base + count
    }

    package mutating func append(_ byte: UInt8) {
        extend(by: 1).storeBytes(of: byte, as: UInt8.self)
    }

    /// Appends an integer in little-endian order.
    package mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(little value: Number)
    {
        extend(by: MemoryLayout<Number>.size).storeBytes(of: value.littleEndian, as: Number.self)
    }

    /// Appends an integer in big-endian order, which sorts as bytes.
    package mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(big value: Number) {
        extend(by: MemoryLayout<Number>.size).storeBytes(of: value.bigEndian, as: Number.self)
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        extend(by: bytes.count).copyMemory(from: start, byteCount: bytes.count)
    }

    package mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    package mutating func append(_ key: RecordKey) {
        let start = extend(by: key.byteCount)
        _ = key.write(to: start)
    }

    /// Overwrites an integer that was appended before, in little-endian order.
    package mutating func store<Number: FixedWidthInteger & BitwiseCopyable>(
        little value: Number, at offset: Int
    ) {
        precondition(offset + MemoryLayout<Number>.size <= count, "The store lies past the end.")
        base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Number.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Reads a little-endian integer; the caller has checked that it lies within the bytes.
    @inline(__always)
    package func little<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type, at offset: Int
    ) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// The bytes of a range, as a buffer of their own; the caller has checked the range.
    @inline(__always)
    package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// Whether two runs of bytes are the same.
    package func holdsSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && (count == 0 || elementsEqual(other))
    }
}
