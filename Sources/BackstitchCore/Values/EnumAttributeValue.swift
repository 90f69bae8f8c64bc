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
public protocol EnumAttributeValue: ScalarAttributeValue, RawRepresentable, CaseIterable, Codable
where RawValue: ScalarAttributeValue {}

extension EnumAttributeValue {
    /// The type of the raw values.
    public static var attributeType: AttributeType { RawValue.attributeType }
    /// The raw values of all cases.
    public static var allowedValues: [RecordValue]? { allCases.map(\.value) }
    /// Reads the case of a stored raw value; throws if no case has it.
    public init(field: FieldValue) throws {
        guard let value = Self(rawValue: try RawValue(field: field)) else {
            throw FieldError(.unknownCase)
        }
        self = value
    }
    /// Writes the raw value.
    public func write(to writer: inout FieldWriter, at index: Int) throws {
        try rawValue.write(to: &writer, at: index)
    }
    /// The raw value.
    public var value: RecordValue { rawValue.value }
}
