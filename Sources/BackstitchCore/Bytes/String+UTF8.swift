extension String {
    /// The text that bytes spell; nil if they are not UTF-8.
    @usableFromInline
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard let isASCII = bytes.isASCIIText else { return nil }
        let units = bytes.assumingMemoryBound(to: UInt8.self).span
        self.init(copying: UTF8Span(unchecked: units, isKnownASCII: isASCII))
    }

    /// The text that stored bytes spell. Stored text was checked when it was written, so a damaged byte
    /// is repaired, not trusted.
    @usableFromInline
    package init(stored bytes: UnsafeRawBufferPointer) {
        self = String(utf8: bytes) ?? String(decoding: bytes, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes of a text are all ASCII; nil if they are not UTF-8.
    ///
    /// ASCII is passed by words, also behind the first other character, from which on the standard
    /// library goes byte by byte.
    fileprivate var isASCIIText: Bool? {
        var isASCII = true
        var at = 0
        while at < count {
            if at + 8 <= count {
                let others = little(UInt64.self, at: at) & 0x8080_8080_8080_8080
                at += others.trailingZeroBitCount / 8
                if others == 0 { continue }
            } else if self[at] < 0x80 {
                at += 1
                continue
            }
            isASCII = false
            guard let length = characterLength(at: at) else { return nil }
            at += length
        }
        return isASCII
    }

    /// How many bytes spell the character other than ASCII at an offset; nil if they spell none.
    private func characterLength(at offset: Int) -> Int? {
        let first = UInt32(self[offset])
        let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        guard first >= 0xC2, first < 0xF5, offset + length <= count else { return nil }
        var scalar = first & (0x7F >> UInt32(length))
        for at in offset + 1..<offset + length {
            guard self[at] & 0xC0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(self[at] & 0x3F)
        }
        // The shortest form only, and no half of a pair.
        let isShortest = length == 2 || scalar >= (length == 3 ? 0x800 : 0x1_0000)
        return isShortest && Unicode.Scalar(scalar) != nil ? length : nil
    }
}
