extension AttributeBinding {
    /// Appends the bytes by which groups tell the attribute's effective values apart: two rows get
    /// the same if and only if their values are equal, as `==` in a condition has it.
    ///
    /// They are those of an ordered key that is not cut. Lists and places have no such key, because
    /// no index holds them:
    ///
    /// | value | bytes |
    /// |---|---|
    /// | list | `01`, the key of each element, each of which begins with `01`, then `00` |
    /// | place | `01`, the keys of latitude and longitude |
    ///
    /// So groups come in a fixed order for these too: lists element by element, places from south to
    /// north.
    ///
    /// - Throws: `FieldError` if the value's bounds are damaged.
    func appendIdentity(
        of fields: PackedFields, to output: inout ByteBuffer
    ) throws(FieldError) {
        guard !type.isOrdered else {
            return try appendKey(of: fields, to: &output, textBytesMax: .max)
        }
        OrderedKey.appendIdentity(try value(of: fields), type: type, to: &output)
    }
}

extension OrderedKey {
    fileprivate static func appendIdentity(
        _ value: RecordValue, type: AttributeType, to output: inout ByteBuffer
    ) {
        switch value {
        case .location(let place):
            output.append(present)
            append(.double(place.latitude), type: .double, to: &output)
            append(.double(place.longitude), type: .double, to: &output)
        case .asset(let asset):
            output.append(present)
            append(
                .string(asset.content ?? asset.serviceChecksum ?? ""), type: .string, to: &output,
                textBytesMax: .max)
        case .list(let elements):
            let element = type.element ?? type
            output.append(present)
            for value in elements {
                if element.isOrdered {
                    append(value, type: element, to: &output, textBytesMax: .max)
                } else {
                    appendIdentity(value, type: element, to: &output)
                }
            }
            output.append(null)
        default:
            output.append(null)
        }
    }
}
