/// A type of an app's own that is an attribute: it is stored, sorted, compared and sent as a value of
/// another type.
///
/// ```swift
/// struct Email: AttributeConvertible, Hashable, Codable {
///     let stored: String
///     init?(stored: String) { … }
/// }
/// ```
///
/// The attribute has the stored type in the schema, and may be optional, indexed, unique, or a list.
/// Conditions compare it with values that are captured, which Foundation's predicates want to be
/// `Codable`; order comparisons want it to be `Comparable`, and go by the stored values.
///
/// A record with a stored value that the type refuses is kept and left out of queries, and appears
/// when the type takes the value. Two values that are equal must be stored equal.
public protocol AttributeConvertible: ScalarAttributeValue, OrderedAttributeValue {
    /// What it is stored as: one of the types that Backstitch stores itself.
    associatedtype Stored: ScalarAttributeValue

    /// The value to store.
    var stored: Stored { get }

    /// Makes a value from a stored one; nil if the type has no such value.
    init?(stored: Stored)
}

extension AttributeConvertible {
    /// The type that it is stored as.
    public static var _attributeType: AttributeType { Stored._attributeType }
    /// Those of the type that it is stored as.
    public static var _allowedValues: [RecordValue]? { Stored._allowedValues }

    /// Reads a stored value; throws if the type refuses it.
    public init(_field field: _FieldValue) throws {
        guard let value = Self(stored: try Stored(_field: field)) else {
            throw FieldError(.notConvertible)
        }
        self = value
    }

    /// Writes the value to store.
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try stored._write(to: &writer, at: index)
    }

    /// The value to store.
    public var _recordValue: RecordValue { stored._recordValue }
}
