import TestBudget
import Testing

import XXHash

@Suite(.budgeted) struct ChecksumTests {
    private func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
        bytes.withUnsafeBytes { Checksum.xxh64($0, seed: seed) }
    }

    @Test func `the published vectors`() {
        #expect(hash([]) == 0xEF46_DB37_51D8_E999)
        #expect(hash(Array("a".utf8)) == 0xD24E_C4F1_A98C_6E5B)
        #expect(hash(Array("abc".utf8)) == 0x44BC_2CF5_AD77_0999)
    }

    /// The buffer, seeds and results of xxHash's own sanity check (xxhsum, XSUM_XXH64_testdata).
    @Test(
        arguments: [
            (0, 0, 0xEF46_DB37_51D8_E999), (0, 0x9E37_79B1, 0xAC75_FDA2_929B_17EF),
            (1, 0, 0xE934_A84A_DB05_2768), (1, 0x9E37_79B1, 0x5014_6076_43A9_B4C3),
            (4, 0, 0x9136_A0DC_A574_57EE), (14, 0, 0x8282_DCC4_994E_35C8),
            (14, 0x9E37_79B1, 0xC3BD_6BF6_3DEB_6DF0),
            (222, 0, 0xB641_AE8C_B691_C174), (222, 0x9E37_79B1, 0x20CB_8AB7_AE10_C14A),
        ] as [(Int, UInt64, UInt64)])
    func `the check of the reference implementation`(count: Int, seed: UInt64, expected: UInt64) {
        var generator: UInt64 = 0x9E37_79B1
        let bytes = (0..<count).map { _ -> UInt8 in
            defer { generator &*= 0x9E37_79B1_85EB_CA8D }
            return UInt8(generator >> 56)
        }
        #expect(hash(bytes, seed: seed) == expected)
    }

    @Test func `every flipped bit of every length changes it`() {
        for count in 1..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            let whole = hash(bytes, seed: 7)
            let isFound = (0..<(count * 8)).allSatisfy { bit in
                var flipped = bytes
                flipped[bit / 8] ^= 1 << UInt8(bit % 8)
                return UInt32(truncatingIfNeeded: hash(flipped, seed: 7))
                    != UInt32(truncatingIfNeeded: whole)
            }
            #expect(isFound)
        }
    }
}
