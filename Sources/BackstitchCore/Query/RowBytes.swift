/// A row as conditions read it: its stored record key and its packed fields.
package struct RowBytes {
    package let key: UnsafeRawBufferPointer
    package let fields: PackedFields

    package init(key: UnsafeRawBufferPointer, fields: PackedFields) {
        self.key = key
        self.fields = fields
    }

    /// The value of a field; nil where the row has none, or null.
    ///
    /// Fields are numbered from 1 and ascend, so a field stands at most at its number less one, and
    /// just there where the row has all fields before it.
    @inline(__always)
    func value(of field: FieldID) throws(FieldError) -> FieldValue? {
        var position = min(Int(field.rawValue), fields.count) - 1
        while position >= 0 {
            let found = fields.field(at: position)
            if found.rawValue <= field.rawValue {
                guard found == field else { return nil }
                let value = try fields.value(at: position)
                return value.tag == .null ? nil : value
            }
            position -= 1
        }
        return nil
    }
}

extension AttributeBinding {
    /// Appends the ordered key of the attribute's effective value in a row.
    ///
    /// - Throws: `FieldError` where the value's bounds are damaged.
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
