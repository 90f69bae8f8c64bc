/// XXH64, the 64-bit hash of the xxHash family.
///
/// LMDB keeps no checksums, so a flipped bit would read back as other data; what must be told from
/// damage carries one of these. The algorithm is the published one (xxHash specification 0.1.1,
/// section "XXH64").
package enum Checksum {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    @inline(__always)
    private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
        (value << bits) | (value >> (64 - bits))
    }

    @inline(__always)
    private static func round(_ accumulator: UInt64, _ lane: UInt64) -> UInt64 {
        rotate(accumulator &+ lane &* prime2, 31) &* prime1
    }

    @inline(__always)
    private static func merge(_ accumulator: UInt64, _ lane: UInt64) -> UInt64 {
        (accumulator ^ round(0, lane)) &* prime1 &+ prime4
    }

    /// The hash of the bytes of an array.
    package static func xxh64(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe xxh64($0, seed: seed) }
    }

    /// The hash of a text in UTF-8.
    package static func xxh64(_ text: String, seed: UInt64 = 0) -> UInt64 {
        var text = text
        return text.withUTF8 { unsafe xxh64(UnsafeRawBufferPointer($0), seed: seed) }
    }

    /// The hash of `bytes`, some 10 ns and 0.1 ns a byte.
    package static func xxh64(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var offset = 0
        let count = bytes.count
        var hash: UInt64
        if count >= 32 {
            var lane1 = seed &+ prime1 &+ prime2
            var lane2 = seed &+ prime2
            var lane3 = seed
            var lane4 = seed &- prime1
            repeat {
                lane1 = unsafe round(lane1, bytes.little(UInt64.self, at: offset))
                lane2 = unsafe round(lane2, bytes.little(UInt64.self, at: offset + 8))
                lane3 = unsafe round(lane3, bytes.little(UInt64.self, at: offset + 16))
                lane4 = unsafe round(lane4, bytes.little(UInt64.self, at: offset + 24))
                offset += 32
            } while offset + 32 <= count
            hash = rotate(lane1, 1) &+ rotate(lane2, 7) &+ rotate(lane3, 12) &+ rotate(lane4, 18)
            hash = merge(hash, lane1)
            hash = merge(hash, lane2)
            hash = merge(hash, lane3)
            hash = merge(hash, lane4)
        } else {
            hash = seed &+ prime5
        }
        hash &+= UInt64(count)
        while offset + 8 <= count {
            unsafe hash ^= round(0, bytes.little(UInt64.self, at: offset))
            hash = rotate(hash, 27) &* prime1 &+ prime4
            offset += 8
        }
        if offset + 4 <= count {
            unsafe hash ^= UInt64(bytes.little(UInt32.self, at: offset)) &* prime1
            hash = rotate(hash, 23) &* prime2 &+ prime3
            offset += 4
        }
        while offset < count {
            unsafe hash ^= UInt64(bytes[offset]) &* prime5
            hash = rotate(hash, 11) &* prime1
            offset += 1
        }
        hash ^= hash >> 33
        hash &*= prime2
        hash ^= hash >> 29
        hash &*= prime3
        hash ^= hash >> 32
        return hash
    }
}

extension UnsafeRawBufferPointer {
    /// A little-endian integer at an offset.
    @inline(__always)
    fileprivate func little<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type, at offset: Int
    ) -> Number {
        unsafe Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
