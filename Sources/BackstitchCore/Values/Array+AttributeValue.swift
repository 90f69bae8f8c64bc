/// A list of scalars. A row without it reads as an empty list.
extension Array: AttributeValue where Element: ScalarAttributeValue {
    /// The type of lists of the elements' type.
    public static var attributeType: AttributeType {
        guard let type = Element.attributeType.list else {
            preconditionFailure("Every scalar type has a type of lists.")
        }
        return type
    }
    /// The raw values that elements can have, if they are an enum.
    public static var allowedValues: [RecordValue]? { Element.allowedValues }
    /// An empty list.
    public static func absent(at index: Int) throws -> Self { [] }
    /// Reads a stored list; throws if an element does not fit.
    public init(field: FieldValue) throws {
        self = try field.parts().map { try Element(field: $0) }
    }
    /// Writes the list; throws if an element can't be stored.
    public func write(to writer: inout FieldWriter, at index: Int) throws {
        try writer.write(value: value, at: index)
    }
    /// `list`.
    public var value: RecordValue { .list(map(\.value)) }
}
