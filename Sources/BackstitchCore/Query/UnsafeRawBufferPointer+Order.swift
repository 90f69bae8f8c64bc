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
            let order = memcmp(start, otherStart, shared)
            if order != 0 { return Int(order) }
        }
        return count - other.count
    }

    /// Whether these bytes hold others, which are not empty.
    @inline(__always)
    func holds(_ part: UnsafeRawBufferPointer) -> Bool {
        guard var start = baseAddress, let partStart = part.baseAddress, part.count <= count else {
            return false
        }
        let first = CInt(part[0])
        let end = start + (count - part.count + 1)
        while start < end, let found = memchr(start, first, end - start) {
            if memcmp(found, partStart, part.count) == 0 { return true }
            start = UnsafeRawPointer(found) + 1
        }
        return false
    }
}
