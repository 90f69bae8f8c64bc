import Foundation

/// Encodes values as bytes that sort as the values do: the value part of an index key.
///
/// | value | bytes |
/// |---|---|
/// | null | `00`; every other value starts with `01`, so nulls come first |
/// | bool | `00` or `01` |
/// | integers, dates (milliseconds) | 8 bytes, big-endian, sign bit flipped |
/// | float, double | 8 bytes, big-endian, sign bit flipped, all bits flipped below zero |
/// | uuid | 16 bytes |
/// | decimal | sign, exponent, pairs of digits, end; see `appendDecimal` |
/// | string, url, data | bytes with `00` escaped as `00 FF`, then `00 00`; strings normalised (NFC) |
/// | the same, cut | the first ``textBytesMax`` escaped bytes, then `01` |
/// | reference | the stored record key |
/// | the same, cut | the first ``referenceBytesMax`` bytes |
///
/// Two values have the same bytes if and only if they are equal, with one exception: values that
/// were cut. Lists and places have no order and count as null, so that whoever sorts or groups by
/// keys has to refuse them or to tell them apart otherwise. A value that does not fit the attribute's type counts as null, in a key as in a
/// condition, because one bad field must not stop an index or a query.
///
/// Each encoding is self-delimiting, so a record key can follow it.
package enum OrderedKey {
    /// The most escaped bytes of a string, URL or data that a key keeps.
    ///
    /// LMDB keys have 511 bytes at most: 5 bytes of table prefix, then 1 + 200 + 2 for the value,
    /// then up to 258 for the record key make 466.
    package static let textBytesMax = 200

    /// The most bytes of a reference that a key keeps; the length byte tells whether it was cut.
    package static let referenceBytesMax = 203

    /// The most bytes that the encoding of a value takes.
    package static let byteCountMax = 1 + textBytesMax + 3

    /// The first byte of null.
    static let null: UInt8 = 0
    /// The first byte of every other value.
    static let present: UInt8 = 1
    /// The byte after a text that was cut; a complete one has zeros there.
    static let cut: UInt8 = 1

    /// Appends a stored value as an attribute of `type`; nil is null.
    ///
    /// The caller passes the default of the attribute if a row lacks it, so that a key holds
    /// the value that readers see.
    ///
    /// - Parameter textBytesMax: The bytes after which text is cut; `Int.max` keeps it whole.
    package static func append(
        _ value: _FieldValue?, type: AttributeType, to output: inout ByteBuffer,
        textBytesMax: Int = textBytesMax
    ) {
        guard let value else { return output.append(null) }
        switch type {
        case .string, .url:
            guard value.tag == .string else { return output.append(null) }
            output.append(present)
            unsafe appendText(value.payload, to: &output, bytesMax: textBytesMax)
        case .reference:
            guard let key = unsafe value.storedKey else { return output.append(null) }
            unsafe appendReference(key, to: &output, textBytesMax: textBytesMax)
        case .int16, .int32, .int64:
            appendInteger(value.storedInt64, to: &output)
        case .date:
            appendInteger(value.storedMilliseconds, to: &output)
        case .double:
            appendDouble(value.storedDouble, to: &output)
        case .float:
            appendDouble(value.storedFloat, to: &output)
        case .decimal:
            if value.tag == .decimal, unsafe appendDecimal(value.payload, to: &output) { return }
            appendDecimal(try? value.decimal(), to: &output)
        default:
            // Places and lists have no order.
            guard let traits = type.traits else { return output.append(null) }
            traits.appendKey(
                of: traits.value(stored: value), to: &output, textBytesMax: textBytesMax)
        }
    }

    /// Appends a value as an attribute of `type`; `.null` and nil are null.
    package static func append(
        _ value: RecordValue?, type: AttributeType, to output: inout ByteBuffer,
        textBytesMax: Int = textBytesMax
    ) {
        switch (type, value) {
        case (.string, .string(var text)):
            output.append(present)
            text.withUTF8 {
                unsafe appendText(UnsafeRawBufferPointer($0), to: &output, bytesMax: textBytesMax)
            }
        case (.int64, .int64(let number)): appendInteger(number, to: &output)
        default:
            guard let traits = type.traits else { return output.append(null) }
            traits.appendKey(
                of: value.flatMap { traits.converted($0) }, to: &output,
                textBytesMax: textBytesMax)
        }
    }

    static func appendBool(_ bool: Bool?, to output: inout ByteBuffer) {
        guard let bool else { return output.append(null) }
        output.append(present)
        output.append(bool ? 1 : 0)
    }

    static func appendInteger(_ number: Int64?, to output: inout ByteBuffer) {
        guard let number else { return output.append(null) }
        output.append(present)
        output.append(big: UInt64(bitPattern: number) ^ (1 << 63))
    }

    static func appendDouble(_ number: Double?, to output: inout ByteBuffer) {
        guard let number else { return output.append(null) }
        output.append(present)
        // Adding zero turns -0.0, which equals 0.0, into 0.0.
        let bits = (number + 0).bitPattern
        output.append(big: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    }

    static func appendUUID(_ uuid: UUID?, to output: inout ByteBuffer) {
        guard let uuid else { return output.append(null) }
        output.append(present)
        unsafe output.extend(by: 16).storeBytes(of: uuid.uuid, as: uuid_t.self)
    }

    static func appendReference(
        _ key: UnsafeRawBufferPointer, to output: inout ByteBuffer, textBytesMax: Int
    ) {
        output.append(present)
        let isWhole = textBytesMax == .max || key.count <= referenceBytesMax(textBytesMax)
        unsafe output.append(isWhole ? key : key.part(0..<referenceBytesMax(textBytesMax)))
    }

    /// The most bytes of a reference where texts have so many.
    static func referenceBytesMax(_ textBytesMax: Int) -> Int {
        textBytesMax + referenceBytesMax - Self.textBytesMax
    }

    /// The most escaped bytes of each text in a key that holds values of several types.
    ///
    /// LMDB keys have 511 bytes at most: 5 bytes of table prefix and up to 258 for the record key leave
    /// 248. A number takes up to 26 of them; texts and references share the rest, of which each needs 4 for its
    /// beginning and end.
    package static func textBytesMax(of types: [AttributeType]) -> Int {
        let texts = types.count(where: \.canBeCut)
        guard texts > 0 else { return textBytesMax }
        return min(textBytesMax, (248 - 26 * (types.count - texts)) / texts - 4)
    }

    /// An encoded value with the limit of an index that keeps fewer bytes of texts.
    static func shortened(_ value: [UInt8], type: AttributeType, textBytesMax: Int) -> [UInt8] {
        guard textBytesMax < Self.textBytesMax, type.canBeCut, value.first == present else {
            return value
        }
        if type == .reference { return Array(value.prefix(1 + referenceBytesMax(textBytesMax))) }
        // Behind a whole text are two zeros.
        let isCut = value.count == 1 + Self.textBytesMax + 1 && value.last == cut
        let count = isCut ? Self.textBytesMax : value.count - 3
        return count > textBytesMax ? value.prefix(1 + textBytesMax) + [cut] : value
    }
}
