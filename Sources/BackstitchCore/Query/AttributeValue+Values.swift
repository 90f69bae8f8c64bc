extension AttributeValue {
    /// The value that a `RecordValue` stands for.
    ///
    /// - Throws: `FieldError` if it is not of the type.
    package init(value: RecordValue) throws {
        guard value != .null else {
            self = try Self._absent(at: -1)
            return
        }
        var writer = _FieldWriter()
        try writer.write(value, of: FieldID(1))
        var buffer = ByteBuffer(capacity: 64)
        writer.finish(into: &buffer)
        guard let field = try unsafe PackedFields(buffer.bytes)?.value(of: FieldID(1)) else {
            throw FieldError(.damaged)
        }
        self = try Self(_field: field)
    }
}
