extension OrderedKey {
    /// The bytes that the encoded value at the start of `bytes` takes, so that what follows it, a
    /// record key, can be found; nil if the bytes hold no value of the type.
    ///
    /// The value is one with the limits of an index, not one that was encoded whole.
    ///
    /// - Parameter textBytesMax: The limit of the index.
    package static func byteCount(
        of type: AttributeType, in bytes: UnsafeRawBufferPointer,
        textBytesMax: Int = textBytesMax
    ) -> Int? {
        guard let first = unsafe bytes.first else { return nil }
        if first == null { return 1 }
        let count =
            switch type {
            case .string, .url, .data: unsafe textByteCount(in: bytes, textBytesMax)
            case .reference: unsafe referenceByteCount(in: bytes, textBytesMax)
            default: unsafe type.traits?.keyByteCount(in: bytes)
            }
        guard let count, count <= bytes.count else { return nil }
        return count
    }

    /// Whether an encoded value was cut, so that equal bytes need not mean equal values.
    package static func isCut(
        _ bytes: UnsafeRawBufferPointer, type: AttributeType, textBytesMax: Int = textBytesMax
    ) -> Bool {
        switch type {
        case .string, .url, .data:
            unsafe bytes.count == 1 + textBytesMax + 1 && bytes[bytes.count - 1] == cut
        case .reference:
            unsafe bytes.count == 1 + referenceBytesMax(textBytesMax) && bytes[2] == 1
                && 3 + Int(bytes[3]) > referenceBytesMax(textBytesMax)
        default:
            false
        }
    }

    static func textByteCount(
        in bytes: UnsafeRawBufferPointer, _ textBytesMax: Int = textBytesMax
    ) -> Int? {
        var offset = 1
        while offset < bytes.count, offset < 1 + textBytesMax {
            if unsafe bytes[offset] == 0 {
                // A cut can fall between the two bytes of an escape.
                if offset == textBytesMax { break }
                guard offset + 1 < bytes.count else { return nil }
                if unsafe bytes[offset + 1] == 0 { return offset + 2 }
                offset += 1
            }
            offset += 1
        }
        return unsafe textEnd(in: bytes, textBytesMax)
    }

    /// The end of a text that fills all bytes it may have: two zeros, or the mark of a cut.
    private static func textEnd(
        in bytes: UnsafeRawBufferPointer, _ textBytesMax: Int
    ) -> Int? {
        let end = 1 + textBytesMax
        guard end < bytes.count else { return nil }
        if unsafe bytes[end] == cut { return end + 1 }
        // With a byte less of text, its end starts one byte earlier.
        return unsafe bytes[end - 1] == 0 ? end + 1 : end + 2
    }

    static func decimalByteCount(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 2 else { return nil }
        if unsafe bytes[1] == 2 { return 2 }
        let end: UInt8 = unsafe bytes[1] == 1 ? 0xFF : 0
        var offset = 4
        while offset < bytes.count {
            if unsafe bytes[offset] == end { return offset + 1 }
            offset += 1
        }
        return nil
    }

    static func referenceByteCount(
        in bytes: UnsafeRawBufferPointer, _ textBytesMax: Int = textBytesMax
    ) -> Int? {
        guard bytes.count >= 4 else { return nil }
        let count = unsafe bytes[2] == 0 ? 18 : 3 + Int(bytes[3])
        return 1 + min(count, referenceBytesMax(textBytesMax))
    }
}

extension AttributeType {
    /// Whether index keys may hold only the start of a value.
    var canBeCut: Bool {
        switch self {
        case .string, .url, .data, .reference: true
        default: false
        }
    }
}
