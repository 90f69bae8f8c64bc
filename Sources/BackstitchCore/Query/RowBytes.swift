/// A row as conditions read it: its stored record key and its packed fields.
@usableFromInline
package struct RowBytes {
    package let key: UnsafeRawBufferPointer
    package let fields: PackedFields
    /// What else conditions may read; whoever runs them keeps it.
    let context: Unmanaged<RowContext>?

    package init(key: UnsafeRawBufferPointer, fields: PackedFields) {
        self.init(key: key, fields: fields, context: nil)
    }

    init(key: UnsafeRawBufferPointer, fields: PackedFields, context: RowContext?) {
        self.key = key
        self.fields = fields
        self.context = context.map { Unmanaged.passUnretained($0) }
    }

    /// The value of a field; nil if the row has none, or null.
    ///
    /// Fields are numbered from 1 and ascend, so a field stands at most at its number less one, and
    /// just there if the row has all fields before it. The directory is read in place, because
    /// this is the inner loop of every scan; `PackedFields` has checked that it fits.
    @inline(__always)
    func value(of field: FieldID) throws(FieldError) -> _FieldValue? {
        guard let start = fields.bytes.baseAddress else { return nil }
        let isWide = start.load(as: UInt8.self) != 0
        let entrySize = isWide ? 6 : 4
        let wanted = field.rawValue.littleEndian
        var position = min(Int(field.rawValue), fields.count) - 1
        while position >= 0 {
            let entry = start + (4 + position * entrySize)
            let found = entry.loadUnaligned(as: UInt16.self)
            if found == wanted {
                let data = 4 + fields.count * entrySize
                let low =
                    position == 0 ? 0 : Self.end(of: entry - entrySize, isWide: isWide)
                let high = Self.end(of: entry, isWide: isWide)
                guard low < high, data + high <= fields.bytes.count else {
                    throw FieldError(.damaged)
                }
                let byte = (start + data + low).load(as: UInt8.self)
                guard let tag = FieldTag(rawValue: byte) else {
                    throw FieldError(unknownTag: byte)
                }
                if tag == .null { return nil }
                return _FieldValue(
                    tag: tag,
                    payload: UnsafeRawBufferPointer(
                        start: start + (data + low + 1), count: high - low - 1))
            }
            if UInt16(littleEndian: found) < field.rawValue { return nil }
            position -= 1
        }
        return nil
    }

    @inline(__always)
    private static func end(of entry: UnsafeRawPointer, isWide: Bool) -> Int {
        isWide
            ? Int(UInt32(littleEndian: (entry + 2).loadUnaligned(as: UInt32.self)))
            : Int(UInt16(littleEndian: (entry + 2).loadUnaligned(as: UInt16.self)))
    }
}

extension AttributeBinding {
    /// Appends the ordered key of the attribute's effective value in a row.
    ///
    /// - Throws: `FieldError` if the value's bounds are damaged.
    package func appendKey(
        of fields: PackedFields, to output: inout ByteBuffer,
        textBytesMax: Int = OrderedKey.textBytesMax
    ) throws(FieldError) {
        if let value = try fields.value(of: field), value.tag != .null {
            OrderedKey.append(value, type: type, to: &output, textBytesMax: textBytesMax)
        } else {
            OrderedKey.append(defaultValue, type: type, to: &output, textBytesMax: textBytesMax)
        }
    }
}
