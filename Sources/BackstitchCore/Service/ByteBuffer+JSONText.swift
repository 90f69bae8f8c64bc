import Foundation

/// JSON (RFC 8259), written into a buffer that is used again.
extension ByteBuffer {
    private static let hexDigits = Array("0123456789ABCDEF".utf8)
    /// Copies of eight bytes at once may end behind what is copied by fewer than so many.
    private static let slack = 8

    // MARK: Text

    /// Appends text in quotes. What is no UTF-8 is repaired.
    package mutating func append(jsonText bytes: UnsafeRawBufferPointer) {
        if unsafe appendPlain(bytes) { return }
        append(UInt8(ascii: "\""))
        if unsafe (try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span)) != nil {
            unsafe append(escaping: bytes)
        } else {
            var text = unsafe String(decoding: bytes, as: UTF8.self)
            text.withUTF8 { unsafe append(escaping: UnsafeRawBufferPointer($0)) }
        }
        append(UInt8(ascii: "\""))
    }

    package mutating func append(jsonText text: String) {
        var text = text
        text.withUTF8 { unsafe append(jsonText: UnsafeRawBufferPointer($0)) }
    }

    /// Appends text in quotes if it is UTF-8 without characters that JSON escapes; nothing if not.
    ///
    /// Eight bytes are copied at once, and looked at in passing.
    private mutating func appendPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (size, before) = (bytes.count, count)
        let target = unsafe extend(by: size + 2 + Self.slack)
        unsafe target.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        var offset = 0
        while offset < size {
            let word = unsafe bytes.word(at: offset)
            unsafe target.storeBytes(of: word, toByteOffset: offset + 1, as: UInt64.self)
            let marks = word.jsonMarks
            guard marks != 0 else {
                offset += 8
                continue
            }
            offset += marks.trailingZeroBitCount / 8
            guard let length = unsafe bytes.lengthOfCharacter(beyondASCIIAt: offset) else {
                truncate(to: before)
                return false
            }
            for index in offset..<(offset + length) {
                unsafe target.storeBytes(of: bytes[index], toByteOffset: index + 1, as: UInt8.self)
            }
            offset += length
        }
        unsafe target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: size + 1, as: UInt8.self)
        truncate(to: before + size + 2)
        return true
    }

    /// Appends runs of bytes that mean themselves as they are.
    private mutating func append(escaping bytes: UnsafeRawBufferPointer) {
        var start = 0
        for index in 0..<bytes.count where unsafe bytes[index].isEscapedInJSON {
            unsafe append(bytes.part(start..<index))
            unsafe append(escaped: bytes[index])
            start = index + 1
        }
        unsafe append(bytes.part(start..<bytes.count))
    }

    private mutating func append(escaped byte: UInt8) {
        if byte >= 0x20 {
            append(UInt8(ascii: "\\"))
            append(byte)
        } else {
            append(utf8: "\\u00")
            append(Self.hexDigits[Int(byte >> 4)])
            append(Self.hexDigits[Int(byte & 15)])
        }
    }

    /// Appends a record name in quotes, as ``RecordName/description`` spells it.
    package mutating func append(json name: RecordName) {
        guard case .uuid(let uuid) = name else {
            append(jsonText: name.description)
            return
        }
        unsafe withUnsafeBytes(of: uuid.uuid) { unsafe append(jsonUUID: $0) }
    }

    /// Appends a record name in quotes, whose stored key starts the bytes.
    ///
    /// - Returns: false if no key does; then nothing was appended.
    package mutating func append(jsonNameOf key: UnsafeRawBufferPointer) -> Bool {
        guard key.count >= 18, unsafe key[1] == 0 else {
            guard let name = unsafe RecordKey(reading: key)?.name else { return false }
            append(json: name)
            return true
        }
        unsafe append(jsonUUID: key.part(2..<18))
        return true
    }

    private mutating func append(jsonUUID bytes: UnsafeRawBufferPointer) {
        let target = unsafe extend(by: UUID.textByteCount + 2)
        unsafe target.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe target.storeBytes(
            of: UInt8(ascii: "\""), toByteOffset: UUID.textByteCount + 1, as: UInt8.self)
        unsafe UUID.writeText(of: bytes, to: target + 1)
    }

    // MARK: Numbers

    package mutating func append(decimal number: Int64) {
        // The least number has 19 digits and a sign.
        var target = unsafe extend(by: 20 + Self.slack)
        if number < 0 {
            unsafe target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
            unsafe target += 1
        }
        unsafe truncate(to: target - base + Self.write(number.magnitude, to: target))
    }

    /// Writes digits and returns how many; up to 7 bytes more are overwritten.
    private static func write(_ number: UInt64, to target: UnsafeMutableRawPointer) -> Int {
        let zeros: UInt64 = 0x3030_3030_3030_3030
        guard number >= 100_000_000 else {
            let digits = number.eightDigits
            let leading = min(digits.trailingZeroBitCount / 8, 7)
            unsafe target.storeBytes(of: (digits | zeros) >> UInt64(8 * leading), as: UInt64.self)
            return 8 - leading
        }
        let count = unsafe write(number / 100_000_000, to: target)
        unsafe target.storeBytes(
            of: (number % 100_000_000).eightDigits | zeros, toByteOffset: count, as: UInt64.self)
        return count + 8
    }

    /// Appends a number as Swift describes it: by the shortest decimal to which it is the nearest.
    package mutating func append(number: Double) {
        let hundredths = number * 100 + (number < 0 ? -0.5 : 0.5)
        // A decimal of at most 15 digits has a number of its own, so one with two places is the shortest.
        guard abs(hundredths) < 1e15, abs(hundredths) >= 1,
            Double(Int64(hundredths)) / 100 == number
        else { return append(utf8: "\(number)") }
        let (whole, rest) = (Int64(hundredths).magnitude).quotientAndRemainder(dividingBy: 100)
        if number < 0 { append(UInt8(ascii: "-")) }
        append(decimal: Int64(whole))
        append(UInt8(ascii: "."))
        append(UInt8(ascii: "0") + UInt8(rest / 10))
        if rest % 10 != 0 { append(UInt8(ascii: "0") + UInt8(rest % 10)) }
    }
}

extension UnsafeRawBufferPointer {
    /// Eight bytes from an offset on, the first one lowest, with spaces behind the end.
    fileprivate func word(at offset: Int) -> UInt64 {
        let rest = count - offset
        if rest >= 8 { return unsafe loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        var word: UInt64 = 0x2020_2020_2020_2020
        for index in (offset..<count).reversed() { word = unsafe word << 8 | UInt64(self[index]) }
        return word
    }
}

extension UInt8 {
    /// Whether JSON has another spelling for the character in texts.
    fileprivate var isEscapedInJSON: Bool { self < 0x20 || self == 0x22 || self == 0x5C }
}

extension UInt64 {
    /// The eight decimal digits of a number below 100,000,000, a byte each, the first one lowest.
    ///
    /// It is cut in halves three times, all halves at once; the divisions are multiplications that are
    /// exact for such numbers.
    fileprivate var eightDigits: UInt64 {
        let fours = self / 10_000 | (self % 10_000) << 32
        let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
        let twos = hundreds | (fours &- hundreds &* 100) << 16
        let tens = ((twos &* 103) >> 10) & 0x000F_000F_000F_000F
        return tens | (twos &- tens &* 10) << 8
    }
}
