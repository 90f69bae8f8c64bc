/// A list of scalars. A row without it reads as an empty list.
extension Array: AttributeValue where Element: ScalarAttributeValue {
    /// The type of lists of the elements' type.
    public static var _attributeType: AttributeType {
        guard let type = Element._attributeType.list else {
            preconditionFailure("Every scalar type has a type of lists.")
        }
        return type
    }
    /// The raw values that elements can have, if they are an enum.
    public static var _allowedValues: [RecordValue]? { Element._allowedValues }
    /// An empty list.
    public static func _absent(at index: Int) throws -> Self { [] }
    /// Reads a stored list; throws if an element does not fit.
    public init(_field field: _FieldValue) throws {
        self = try field.parts().map { try Element(_field: $0) }
    }
    /// Writes the list; throws if an element can't be stored.
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(value: _recordValue, at: index)
    }
    /// `list`.
    public var _recordValue: RecordValue { .list(map(\._recordValue)) }
}
