@_spi(_Unicode) import Swift

extension OrderedKey {
    /// Appends text in normal form C, escaped, then its end, or the mark of a cut.
    ///
    /// Swift compares strings by the scalars of that form, which sort as their UTF-8 does.
    static func appendText(
        _ utf8: UnsafeRawBufferPointer, to output: inout ByteBuffer, bytesMax: Int
    ) {
        // An ASCII byte is in normal form unless a mark follows it; so one byte more is looked at.
        let looked = unsafe bytesMax < utf8.count ? utf8.part(0..<(bytesMax + 1)) : utf8
        if unsafe looked.isASCII {
            return unsafe appendBytes(utf8, to: &output, bytesMax: bytesMax)
        }
        let start = output.count
        for scalar in unsafe String(decoding: utf8, as: UTF8.self)._nfc {
            for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                output.append(unit)
                if unit == 0 { output.append(0xFF) }
            }
            if output.count - start > bytesMax { break }
        }
        finish(start: start, to: &output, bytesMax: bytesMax)
    }

    /// Appends bytes, escaped, then their end, or the mark of a cut.
    static func appendBytes(
        _ bytes: UnsafeRawBufferPointer, to output: inout ByteBuffer, bytesMax: Int
    ) {
        let start = output.count
        // Escaping only adds bytes, so those behind the limit can't matter but as "there are more".
        let looked = unsafe bytesMax < bytes.count ? bytes.part(0..<(bytesMax + 1)) : bytes
        if unsafe looked.contains(0) {
            for at in 0..<looked.count {
                let byte = unsafe looked[at]
                output.append(byte)
                if byte == 0 { output.append(0xFF) }
            }
        } else {
            unsafe output.append(looked)
        }
        finish(start: start, to: &output, bytesMax: bytesMax)
    }

    private static func finish(start: Int, to output: inout ByteBuffer, bytesMax: Int) {
        if output.count - start > bytesMax {
            output.truncate(to: start + bytesMax)
            output.append(cut)
        } else {
            output.append(0)
            output.append(0)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether every byte is below 128.
    @inline(__always)
    package var isASCII: Bool {
        var offset = 0
        while offset + 8 <= count {
            if unsafe little(UInt64.self, at: offset) & 0x8080_8080_8080_8080 != 0 { return false }
            offset += 8
        }
        while offset < count {
            if unsafe self[offset] >= 0x80 { return false }
            offset += 1
        }
        return true
    }
}
