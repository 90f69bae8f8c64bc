extension String {
    /// The text that bytes spell; nil if they are not UTF-8.
    @usableFromInline
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard let isASCII = unsafe bytes.isASCIIText else { return nil }
        let units = unsafe bytes.assumingMemoryBound(to: UInt8.self).span
        unsafe self.init(copying: UTF8Span(unchecked: units, isKnownASCII: isASCII))
    }

    /// The text that stored bytes spell. Stored text was checked when it was written, so a damaged byte
    /// is repaired, not trusted.
    @usableFromInline
    package init(stored bytes: UnsafeRawBufferPointer) {
        self = unsafe String(utf8: bytes) ?? String(decoding: bytes, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes of a text are all ASCII; nil if they are not UTF-8.
    ///
    /// ASCII is passed by words, also behind the first other character, from which on the standard
    /// library goes byte by byte.
    var isASCIIText: Bool? {
        var isASCII = true
        var at = 0
        while at < count {
            if at + 8 <= count {
                let others = unsafe little(UInt64.self, at: at) & 0x8080_8080_8080_8080
                at += others.trailingZeroBitCount / 8
                if others == 0 { continue }
            } else if unsafe self[at] < 0x80 {
                at += 1
                continue
            }
            isASCII = false
            guard let length = unsafe lengthOfCharacter(beyondASCIIAt: at) else { return nil }
            at += length
        }
        return isASCII
    }

    /// How many bytes spell the character other than ASCII at an offset; nil if they spell none.
    package func lengthOfCharacter(beyondASCIIAt offset: Int) -> Int? {
        func length(_ count: Int, second: ClosedRange<UInt8> = 0x80...0xBF) -> Int? {
            let isWhole =
                unsafe offset + count <= self.count && second.contains(self[offset + 1])
                && (count < 3 || self[offset + 2] & 0xC0 == 0x80)
                && (count < 4 || self[offset + 3] & 0xC0 == 0x80)
            return isWhole ? count : nil
        }
        // The shortest form only, no half of a pair, and nothing behind U+10FFFF.
        return switch unsafe self[offset] {
        case 0xC2...0xDF: length(2)
        case 0xE0: length(3, second: 0xA0...0xBF)
        case 0xED: length(3, second: 0x80...0x9F)
        case 0xE1...0xEF: length(3)
        case 0xF0: length(4, second: 0x90...0xBF)
        case 0xF1...0xF3: length(4)
        case 0xF4: length(4, second: 0x80...0x8F)
        default: nil
        }
    }
}
