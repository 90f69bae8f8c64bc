import Glibc

/// A growing buffer of raw bytes that is used again and again, so that encoding allocates nothing.
@safe
public struct ByteBuffer: ~Copyable {
    @usableFromInline package internal(set) var base: UnsafeMutableRawPointer
    @usableFromInline package internal(set) var count = 0
    @usableFromInline var capacity: Int

    /// An empty buffer with room for `capacity` bytes.
    @inlinable
    package init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        unsafe base = .allocate(byteCount: self.capacity, alignment: 16)
    }

    @inlinable
    deinit { unsafe base.deallocate() }

    /// The bytes so far; valid until the buffer changes.
    @inlinable
    package var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: base, count: count)
    }

    /// The bytes so far, copied.
    @inlinable
    package var array: [UInt8] { unsafe Array(bytes) }

    /// Forgets the bytes and keeps the room.
    @inlinable
    package mutating func removeAll() { count = 0 }

    /// Forgets the bytes after the first `newCount`.
    @inlinable
    package mutating func truncate(to newCount: Int) {
        precondition(newCount <= count, "A buffer can't be truncated to more than it holds.")
        count = newCount
    }

    /// Makes room for `more` bytes after the end and returns where they start.
    @inlinable
    package mutating func extend(by more: Int) -> UnsafeMutableRawPointer {
        let needed = count + more
        if needed > capacity { grow(to: needed) }
        defer { count = needed }
        return unsafe base + count
    }

    @usableFromInline
    mutating func grow(to needed: Int) {
        let larger = max(needed, capacity * 2)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        unsafe moved.copyMemory(from: base, byteCount: count)
        unsafe base.deallocate()
        unsafe base = moved
        capacity = larger
    }

    @inlinable
    package mutating func append(_ byte: UInt8) {
        unsafe extend(by: 1).storeBytes(of: byte, as: UInt8.self)
    }

    /// Appends an integer in little-endian order.
    @inlinable
    package mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(little value: Number)
    {
        unsafe extend(by: MemoryLayout<Number>.size).storeBytes(
            of: value.littleEndian, as: Number.self)
    }

    /// Appends an integer in big-endian order, which sorts as bytes.
    @inlinable
    package mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(big value: Number) {
        unsafe extend(by: MemoryLayout<Number>.size).storeBytes(
            of: value.bigEndian, as: Number.self)
    }

    @inlinable
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        unsafe extend(by: bytes.count).copyMemory(from: start, byteCount: bytes.count)
    }

    @inlinable
    package mutating func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    @inlinable
    package mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    /// Overwrites an integer that was appended before, in little-endian order.
    @inlinable
    package mutating func store<Number: FixedWidthInteger & BitwiseCopyable>(
        little value: Number, at offset: Int
    ) {
        precondition(offset + MemoryLayout<Number>.size <= count, "The store lies past the end.")
        unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Number.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Reads a little-endian integer; the caller has checked that it lies within the bytes.
    @inlinable @inline(__always)
    package func little<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type, at offset: Int
    ) -> Number {
        unsafe Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// The bytes of a range, as a buffer of their own; the caller has checked the range.
    @inlinable @inline(__always)
    package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// Whether two runs of bytes are the same.
    package func holdsSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let base = baseAddress, let otherBase = other.baseAddress else { return count == 0 }
        return unsafe memcmp(base, otherBase, count) == 0
    }

    /// Whether an array holds the same bytes.
    package func holdsSameBytes(as other: [UInt8]) -> Bool {
        unsafe other.withUnsafeBytes { unsafe holdsSameBytes(as: $0) }
    }
}
