/// An enum with raw values that can be an attribute; it is stored and sent as its raw value.
///
/// ```swift
/// enum Status: String, EnumAttributeValue { case open, closed }
/// ```
///
/// The cases are part of the schema. A record with a raw value that no case has, such as one of a
/// newer version of the app, is kept and left out of queries, and appears when a schema has the case.
///
/// Conditions compare it with constants that are captured: write `let open = Status.open` before
/// `#Predicate { $0.status == open }`. Foundation's predicates ask for `Codable` values.
public protocol EnumAttributeValue: ScalarAttributeValue, OrderedAttributeValue, RawRepresentable,
    CaseIterable, Codable
where RawValue: ScalarAttributeValue {}

extension EnumAttributeValue {
    /// The type of the raw values.
    public static var _attributeType: AttributeType { RawValue._attributeType }
    /// The raw values of all cases.
    public static var _allowedValues: [RecordValue]? { allCases.map(\._recordValue) }
    /// Reads the case of a stored raw value; throws if no case has it.
    public init(_field field: _FieldValue) throws {
        guard let value = Self(rawValue: try RawValue(_field: field)) else {
            throw FieldError(.unknownCase)
        }
        self = value
    }
    /// Writes the raw value.
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try rawValue._write(to: &writer, at: index)
    }
    /// The raw value.
    public var _recordValue: RecordValue { rawValue._recordValue }
}
