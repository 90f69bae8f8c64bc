/// A row as conditions read it: its stored record key and its packed fields.
@safe @usableFromInline
package struct RowBytes {
    package let key: UnsafeRawBufferPointer
    package let fields: PackedFields
    /// What else conditions may read; the caller that runs them keeps it.
    let context: Unmanaged<RowContext>?

    package init(key: UnsafeRawBufferPointer, fields: PackedFields) {
        unsafe self.init(key: key, fields: fields, context: nil)
    }

    init(key: UnsafeRawBufferPointer, fields: PackedFields, context: RowContext?) {
        unsafe self.key = key
        self.fields = fields
        unsafe self.context = context.map { unsafe Unmanaged.passUnretained($0) }
    }

    /// The value of a field; nil if the row has none, or null.
    ///
    /// Fields are numbered from 1 and ascend, so a field stands at most at its number less one, and
    /// just there if the row has all fields before it. The directory is read in place, because
    /// this is the inner loop of every scan; `PackedFields` has checked that it fits.
    @inline(__always)
    func value(of field: FieldID) throws(FieldError) -> _FieldValue? {
        guard let start = unsafe fields.bytes.baseAddress, fields.entrySize == 3 else {
            return try fields.value(of: field).flatMap { $0.tag == .null ? nil : $0 }
        }
        var position = min(Int(field.rawValue), fields.count) - 1
        while position >= 0 {
            let entry = unsafe start + (fields.entryStart + position * 3)
            let found = unsafe UInt16(entry.load(as: UInt8.self))
            if found == field.rawValue {
                let offset = unsafe (entry + 1).loadUnaligned(as: UInt16.self)
                return try unsafe value(
                    at: fields.dataStart + Int(UInt16(littleEndian: offset)), start)
            }
            if found < field.rawValue { return nil }
            position -= 1
        }
        return nil
    }

    /// The value that begins at a place after the directory; nil for null.
    @inline(__always)
    private func value(
        at place: Int, _ start: UnsafeRawPointer
    ) throws(FieldError) -> _FieldValue? {
        var low = place
        let high: Int
        if place < fields.varyingStart {
            let tag = unsafe (start + place).load(as: UInt8.self)
            guard let size = FieldTag.fixedBytes(tag) else { throw FieldError(.damaged) }
            high = place + 1 + size
        } else {
            (low, high) = try unsafe PackedFields.varyingBounds(in: fields.bytes, at: place)
        }
        guard low < high, unsafe high <= fields.bytes.count else { throw FieldError(.damaged) }
        let byte = unsafe (start + low).load(as: UInt8.self)
        guard let tag = FieldTag(rawValue: byte) else { throw FieldError(unknownTag: byte) }
        if tag == .null { return nil }
        return unsafe _FieldValue(
            tag: tag,
            payload: UnsafeRawBufferPointer(start: start + (low + 1), count: high - low - 1))
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
        if derivation != nil {
            try appendDerivedKey(of: fields, to: &output, textBytesMax: textBytesMax)
        } else if let value = try fields.value(of: field), value.tag != .null {
            OrderedKey.append(value, type: type, to: &output, textBytesMax: textBytesMax)
        } else {
            OrderedKey.append(defaultValue, type: type, to: &output, textBytesMax: textBytesMax)
        }
    }
}
