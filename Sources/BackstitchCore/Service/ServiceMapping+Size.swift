extension ServiceMapping {
    /// A service counts at most so many bytes for each byte of packed fields. The worst is a field with a name of
    /// 255 bytes and one byte of its own.
    package static let countedPerStoredByte = 80

    /// The bytes that the limits of a service count of a record: its name, its type, and its fields by name.
    ///
    /// - Complexity: O(*n*) in the fields and the elements of their lists.
    package static func countedBytes(
        of fields: PackedFields, in table: EntityTable, named name: RecordName
    ) throws(FieldError) -> Int {
        var bytes = table.name.utf8.count + name.description.utf8.count
        for position in 0..<fields.count {
            let field = unsafe fields.field(at: position)
            guard !table.unsentFields.contains(field) else { continue }
            let attribute = table.attribute(field)
            bytes += attribute?.name.utf8.count ?? 0
            let value = try unsafe fields.value(at: position)
            bytes += try countedBytes(of: value, attribute?.schema)
        }
        return bytes
    }

    /// Texts and bytes, which are what is large, are not decoded.
    private static func countedBytes(
        of value: _FieldValue, _ schema: AttributeSchema?
    ) throws(FieldError) -> Int {
        switch value.tag {
        case .string, .bytes: return unsafe value.payload.count
        case .list:
            var bytes = 0
            for part in try value.parts() { bytes += try countedBytes(of: part, schema) }
            return bytes
        default: return serviceValue(try value.decoded(), of: schema).countedBytes
        }
    }
}
