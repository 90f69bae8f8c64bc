package import Foundation

/// The hash function SHA-256 (FIPS 180-4), for names that must not be told and must not collide, and
/// for the contents of files.
///
/// The core links no library that has it. Content comes in parts of any size and is not kept.
package struct SHA256 {
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
        0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
        0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
        0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
        0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
        0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
        0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
        0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
        0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
    private static let blockByteCount = 64

    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
        0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// What came since the last whole block.
    private var rest: [UInt8] = []
    /// The bytes that came so far.
    package private(set) var byteCount: UInt64 = 0

    /// The hash of nothing yet.
    package init() { rest.reserveCapacity(2 * Self.blockByteCount) }

    /// Takes the next part of the content.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        byteCount += UInt64(bytes.count)
        var start = 0
        if !rest.isEmpty {
            start = min(Self.blockByteCount - rest.count, bytes.count)
            unsafe rest.append(contentsOf: bytes[..<start])
            guard rest.count == Self.blockByteCount else { return }
            unsafe rest.withUnsafeBytes { unsafe Self.mix($0, into: &state) }
            rest.removeAll(keepingCapacity: true)
        }
        let whole = (bytes.count - start) / Self.blockByteCount * Self.blockByteCount
        if whole > 0 { unsafe Self.mix(bytes.part(start..<(start + whole)), into: &state) }
        unsafe rest.append(contentsOf: bytes[(start + whole)...])
    }

    /// Takes the next part of the content.
    package mutating func update(_ part: some ContiguousBytes) {
        unsafe part.withUnsafeBytes { unsafe update($0) }
    }

    /// The 32 bytes of the hash of what came.
    package consuming func finish() -> [UInt8] {
        var padded = rest + [0x80]
        padded += Array(repeating: 0, count: (120 - padded.count % 64) % 64)
        padded += (byteCount * 8).bigEndianBytes
        unsafe padded.withUnsafeBytes { unsafe Self.mix($0, into: &state) }
        return state.flatMap { $0.bigEndianBytes }
    }

    /// The hash in 64 lower-case hexadecimal digits.
    package static func hexadecimal(of message: [UInt8]) -> String {
        ContentHash.text(hash(of: message))
    }

    /// The 32 bytes of the hash.
    package static func hash(of message: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        unsafe message.withUnsafeBytes { unsafe hash.update($0) }
        return hash.finish()
    }

    /// Mixes whole blocks into the state.
    private static func mix(_ blocks: UnsafeRawBufferPointer, into state: inout [UInt32]) {
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
            unsafe constants.withUnsafeBufferPointer { constants in
                unsafe state.withUnsafeMutableBufferPointer { state in
                    var at = 0
                    while at < blocks.count {
                        unsafe mix(blocks, at: at, words, constants, state)
                        at += blockByteCount
                    }
                }
            }
        }
    }

    private static func mix(
        _ blocks: UnsafeRawBufferPointer, at start: Int,
        _ words: UnsafeMutableBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>,
        _ state: UnsafeMutableBufferPointer<UInt32>
    ) {
        var index = 0
        while index < 16 {
            unsafe words[index] = UInt32(
                bigEndian: blocks.loadUnaligned(
                    fromByteOffset: start + index * 4, as: UInt32.self))
            index += 1
        }
        while index < 64 {
            let (early, late) = unsafe (words[index &- 15], words[index &- 2])
            let low =
                (early &>> 7 | early &<< 25) ^ (early &>> 18 | early &<< 14) ^ (early &>> 3)
            let high =
                (late &>> 17 | late &<< 15) ^ (late &>> 19 | late &<< 13) ^ (late &>> 10)
            unsafe words[index] = words[index &- 16] &+ low &+ words[index &- 7] &+ high
            index += 1
        }
        var (a, b, c, d) = unsafe (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = unsafe (state[4], state[5], state[6], state[7])
        index = 0
        while index < 64 {
            let high =
                (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
            let first = unsafe h &+ high &+ ((e & f) ^ (~e & g)) &+ constants[index] &+ words[index]
            let low =
                (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
            let second = low &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ second)
            index += 1
        }
        unsafe state[0] &+= a
        unsafe state[1] &+= b
        unsafe state[2] &+= c
        unsafe state[3] &+= d
        unsafe state[4] &+= e
        unsafe state[5] &+= f
        unsafe state[6] &+= g
        unsafe state[7] &+= h
    }
}
