#if canImport(Glibc)
    public import Glibc
#elseif canImport(Musl)
    public import Musl
#else
    public import Darwin
#endif

extension UnsafeRawBufferPointer {
    /// Below zero, zero, or above: how these bytes sort against others; a prefix sorts first.
    @inlinable @inline(__always)
    package func order(_ other: UnsafeRawBufferPointer) -> Int {
        let shared = Swift.min(count, other.count)
        if shared > 0, let start = baseAddress, let otherStart = other.baseAddress {
            let order = unsafe memcmp(start, otherStart, shared)
            if order != 0 { return Int(order) }
        }
        return count - other.count
    }

    /// Below zero, zero, or above: how these bytes sort against those of an array.
    @inlinable @inline(__always)
    package func order(_ other: [UInt8]) -> Int {
        unsafe other.withUnsafeBytes { unsafe order($0) }
    }

    /// Whether these bytes begin with others.
    @inlinable @inline(__always)
    package func begins(with prefix: UnsafeRawBufferPointer) -> Bool {
        guard count >= prefix.count else { return false }
        guard let start = baseAddress, let prefixStart = prefix.baseAddress else {
            return unsafe prefix.isEmpty
        }
        return unsafe memcmp(start, prefixStart, prefix.count) == 0
    }

    /// Whether these bytes hold others, which are not empty.
    @inline(__always)
    func holds(_ part: UnsafeRawBufferPointer) -> Bool {
        guard var start = baseAddress, let partStart = part.baseAddress, part.count <= count else {
            return false
        }
        let first = unsafe CInt(part[0])
        let end = unsafe start + (count - part.count + 1)
        while unsafe start < end, let found = unsafe memchr(start, first, end - start) {
            if unsafe memcmp(found, partStart, part.count) == 0 { return true }
            unsafe start = UnsafeRawPointer(found) + 1
        }
        return false
    }
}
