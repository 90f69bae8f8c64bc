import Foundation

extension OrderedKey {
    /// Appends a decimal; nil and NaN are null.
    static func appendDecimal(_ decimal: Decimal?, to output: inout ByteBuffer) {
        guard let decimal, decimal.isFinite else { return output.append(null) }
        var text = decimal.description
        let isWritten = text.withUTF8 {
            unsafe appendDecimal(UnsafeRawBufferPointer($0), to: &output)
        }
        if !isWritten { output.append(null) }
    }

    /// Appends a decimal from its text, or appends nothing and returns false if the text is no decimal.
    ///
    /// A number is ± 0.d₁d₂…dₙ × 10ᵉ without zeros at either end of the digits. The bytes are the
    /// sign (`01` below zero, `02` zero, `03` above), e + 32768 in two bytes, each pair of digits
    /// plus one, and `00`. Below zero, all bytes after the sign are inverted.
    static func appendDecimal(
        _ text: UnsafeRawBufferPointer, to output: inout ByteBuffer
    ) -> Bool {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(text.count, 1)) {
            digits in
            var digitCount = 0
            var exponent = 0
            var hasPoint = false
            var isEmpty = true
            let isNegative = unsafe text.first == UInt8(ascii: "-")
            for at in (isNegative ? 1 : 0)..<text.count {
                let byte = unsafe text[at]
                if byte == UInt8(ascii: "."), !hasPoint {
                    hasPoint = true
                    continue
                }
                let digit = byte &- UInt8(ascii: "0")
                guard digit <= 9 else { return false }
                isEmpty = false
                if digitCount == 0, digit == 0 {
                    if hasPoint { exponent -= 1 }
                    continue
                }
                unsafe digits[digitCount] = digit
                digitCount += 1
                if !hasPoint { exponent += 1 }
            }
            guard !isEmpty, abs(exponent) < 32768 else { return false }
            while digitCount > 0, unsafe digits[digitCount - 1] == 0 { digitCount -= 1 }
            output.append(present)
            guard digitCount > 0 else {
                output.append(2)
                return true
            }
            output.append(isNegative ? 1 : 3)
            let mask: UInt8 = isNegative ? 0xFF : 0
            let biased = UInt16(exponent + 32768)
            output.append(UInt8(biased >> 8) ^ mask)
            output.append(UInt8(biased & 0xFF) ^ mask)
            for at in stride(from: 0, to: digitCount, by: 2) {
                let low = unsafe at + 1 < digitCount ? digits[at + 1] : 0
                unsafe output.append((digits[at] * 10 + low + 1) ^ mask)
            }
            output.append(mask)
            return true
        }
    }
}
