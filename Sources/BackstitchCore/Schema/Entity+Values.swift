extension Entity {
    /// The record that values by attribute name make.
    ///
    /// - Throws: `FieldError` if they don't fit the type; what has no name in it is left out.
    package init(_ id: EntityID<Self>, values: [String: RecordValue]) throws {
        let attributes = Self.entitySchema.attributes
        let layout = FieldLayout(fields: attributes.indices.map { FieldID(UInt16($0 + 1)) })
        var fields = Fields()
        for (index, attribute) in attributes.enumerated() {
            guard let value = values[attribute.name], value != .null else { continue }
            fields[layout.fields[index]] = value
        }
        var writer = _FieldWriter()
        try fields.write(to: &writer)
        var body = ByteBuffer(capacity: 1024)
        writer.finish(into: &body)
        self = try withExtendedLifetime(body) {
            guard let packed = unsafe PackedFields(body.bytes) else { throw FieldError(.damaged) }
            var reader = _FieldReader(fields: packed, layout: layout)
            return try Self(id: id, fields: &reader)
        }
    }
}
