extension UnsafeRawBufferPointer {
    /// The text that the bytes of a token are.
    func jsonText(_ kind: JSONToken.Kind) -> String {
        kind == .escapedString
            ? unsafe String(decoding: unescapedJSON, as: UTF8.self)
            : unsafe String(decoding: self, as: UTF8.self)
    }

    /// The characters of a text with escapes, which were checked.
    var unescapedJSON: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(count)
        var offset = 0
        func code(at offset: Int) -> UInt32 {
            (offset..<(offset + 4)).reduce(0) { code, index in
                unsafe code << 4 | UInt32(self[index].hexadecimalDigit ?? 0)
            }
        }
        while offset < count {
            let byte = unsafe self[offset]
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                offset += 1
                continue
            }
            let escape = unsafe self[offset + 1]
            offset += 2
            switch escape {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                var point = code(at: offset)
                offset += 4
                if (0xD800..<0xDC00).contains(point) {
                    point = 0x10000 + (point - 0xD800) << 10 + (code(at: offset + 2) - 0xDC00)
                    offset += 6
                }
                guard let scalar = Unicode.Scalar(point) else { continue }
                text.append(contentsOf: String(Character(scalar)).utf8)
            default: text.append(escape)
            }
        }
        return text
    }
}

extension UInt64 {
    /// Marks the first byte, in the order of memory, that JSON does not take as it is: a quote, a backslash, a
    /// control character or a byte beyond ASCII. The lowest bit that is set is the highest bit of that byte.
    /// Zero if there is no such byte.
    ///
    /// If a bound is subtracted from a smaller byte, the byte's highest bit gets set, which ASCII never has.
    /// That also borrows from the next byte, so bits above the lowest one that is set mean nothing.
    var jsonMarks: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (quotes, backslashes) = (self ^ (ones &* 0x22), self ^ (ones &* 0x5C))
        let below = (self &- ones &* 0x20) & ~self
        let equal =
            ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        return (below | equal | self) & (ones << 7)
    }
}
