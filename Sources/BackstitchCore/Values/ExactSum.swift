/// A sum of doubles without any rounding, so that its order does not matter and what was added can be
/// taken away again.
///
/// A whole number of 2^-1074, the smallest double above zero, in two's complement. 35 words hold the
/// sum of 2^64 doubles of any size.
package struct ExactSum: Equatable, Sendable {
    private static let wordCount = 35
    private static let lowestExponent = -1074

    private var words = [UInt64](repeating: 0, count: wordCount)

    package init() {}

    package mutating func add(_ number: Double) { change(by: number, isNegative: number < 0) }

    package mutating func subtract(_ number: Double) { change(by: number, isNegative: number > 0) }

    package mutating func add(_ sum: ExactSum) {
        var carry: UInt64 = 0
        for index in words.indices {
            carry = Self.change(&words[index], by: sum.words[index], carry, isNegative: false)
        }
    }

    private mutating func change(by number: Double, isNegative: Bool) {
        precondition(number.isFinite, "Only finite numbers have a sum.")
        guard number != 0 else { return }
        let isSubnormal = number.exponentBitPattern == 0
        let mantissa = number.significandBitPattern | (isSubnormal ? 0 : 1 << 52)
        // In units of the smallest double.
        let shift = isSubnormal ? 0 : Int(number.exponentBitPattern) - 1
        let wide = UInt128(mantissa) << UInt128(shift % 64)
        let parts = [UInt64(truncatingIfNeeded: wide), UInt64(truncatingIfNeeded: wide >> 64)]
        var carry: UInt64 = 0
        for index in (shift / 64)..<Self.wordCount {
            let offset = index - shift / 64
            let part = offset < 2 ? parts[offset] : 0
            if offset >= 2, carry == 0 { return }
            carry = Self.change(&words[index], by: part, carry, isNegative: isNegative)
        }
    }

    /// Adds to a word, or takes from it.
    ///
    /// - Returns: what is carried to the next one, or borrowed from it.
    private static func change(
        _ word: inout UInt64, by part: UInt64, _ carry: UInt64, isNegative: Bool
    ) -> UInt64 {
        let (first, firstOverflow) =
            isNegative
            ? word.subtractingReportingOverflow(part) : word.addingReportingOverflow(part)
        let (second, secondOverflow) =
            isNegative
            ? first.subtractingReportingOverflow(carry) : first.addingReportingOverflow(carry)
        word = second
        return firstOverflow || secondOverflow ? 1 : 0
    }

    private var isNegative: Bool { words[Self.wordCount - 1] >> 63 == 1 }

    private var magnitude: [UInt64] {
        guard isNegative else { return words }
        var result = words.map { ~$0 }
        for index in result.indices {
            result[index] &+= 1
            if result[index] != 0 { break }
        }
        return result
    }

    /// The nearest double, ties to even; infinite if the sum leaves the range.
    package var double: Double {
        let magnitude = magnitude
        guard let top = magnitude.lastIndex(where: { $0 != 0 }) else { return 0 }
        let highest = top * 64 + 63 - magnitude[top].leadingZeroBitCount
        let sign: FloatingPointSign = isNegative ? .minus : .plus
        func bits(from start: Int) -> UInt64 {
            let low = magnitude[start / 64] >> UInt64(start % 64)
            guard start % 64 > 0, start / 64 + 1 < magnitude.count else { return low }
            return low | magnitude[start / 64 + 1] << UInt64(64 - start % 64)
        }
        // So few bits are the bit pattern of a double as they stand.
        guard highest > 52 else {
            let value = Double(bitPattern: bits(from: 0))
            return sign == .minus ? -value : value
        }
        let start = highest - 52
        var significand = bits(from: start) & ((1 << 53) - 1)
        let half = bits(from: start - 1) & 1 == 1
        let isAbove = (0..<(start - 1)).contains { magnitude[$0 / 64] >> UInt64($0 % 64) & 1 == 1 }
        if half, isAbove || significand & 1 == 1 { significand += 1 }
        return Double(
            sign: sign, exponent: start + Self.lowestExponent, significand: Double(significand))
    }

    // MARK: Stored form

    /// The stored form: the number of low words that are zero and left out, then words, little-endian,
    /// without those at the top that only repeat the sign; nothing for zero.
    package var bytes: [UInt8] {
        guard let low = words.firstIndex(where: { $0 != 0 }) else { return [] }
        let filler: UInt64 = isNegative ? .max : 0
        var end = Self.wordCount
        while end - 1 > low, words[end - 1] == filler, words[end - 2] >> 63 == filler >> 63 {
            end -= 1
        }
        let count = 1 + 8 * (end - low)
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            unsafe bytes[0] = UInt8(low)
            let raw = UnsafeMutableRawBufferPointer(bytes)
            for index in low..<end {
                unsafe raw.storeBytes(
                    of: words[index].littleEndian, toByteOffset: 1 + 8 * (index - low),
                    as: UInt64.self)
            }
            initialized = count
        }
    }

    /// Reads the stored form; nil for other bytes.
    package init?(bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let count = (bytes.count - 1) / 8
        let low = Int(first)
        guard bytes.count == 1 + 8 * count, count > 0, low + count <= Self.wordCount else {
            return nil
        }
        unsafe bytes.withUnsafeBytes { bytes in
            for index in 0..<count {
                words[low + index] = unsafe UInt64(
                    littleEndian: bytes.loadUnaligned(
                        fromByteOffset: 1 + 8 * index, as: UInt64.self))
            }
        }
        guard words[low + count - 1] >> 63 == 1 else { return }
        for index in (low + count)..<Self.wordCount { words[index] = .max }
    }
}
