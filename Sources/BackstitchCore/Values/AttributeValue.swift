public import Foundation

/// A Swift type that can be an attribute of an entity.
///
/// The types that conform are the ones that Backstitch stores: `String`, `Bool`, `Int`, `Int16`,
/// `Int32`, `Int64`, `Float`, `Double`, `Decimal`, `Date`, `Data`, `UUID`, `URL`, ``GeoLocation``,
/// ``Asset``, enums that conform to ``EnumAttributeValue``, arrays of all these, `EntityID`, and optionals.
/// A property of any other type does not compile; `@Attribute(.codable)` stores any `Codable`.
public protocol AttributeValue: Sendable {
    /// The stored type.
    static var _attributeType: AttributeType { get }
    /// Whether nil is a value of the type.
    static var _isOptional: Bool { get }
    /// For ids, the name of the entity that they refer to.
    static var _referencedEntity: String? { get }
    /// For enums and lists of them, the raw values of the cases; nil if every value is one.
    static var _allowedValues: [RecordValue]? { get }

    /// Reads a stored value.
    init(_field field: _FieldValue) throws
    /// What a row without the attribute reads as; throws if there is no such value.
    static func _absent(at index: Int) throws -> Self
    /// Writes the value at a position of the declaration.
    func _write(to writer: inout _FieldWriter, at index: Int) throws
    /// The value for code that does not know the type.
    var _recordValue: RecordValue { get }
}

extension AttributeValue {
    /// False: only optionals have nil.
    public static var _isOptional: Bool { false }
    /// Nil: only ids refer to an entity.
    public static var _referencedEntity: String? { nil }
    /// Nil: only enums have few values.
    public static var _allowedValues: [RecordValue]? { nil }
    /// Throws: a plain attribute has no value to stand in for one that is missing.
    public static func _absent(at index: Int) throws -> Self {
        throw FieldError(.missing, index: index)
    }
}

extension String: AttributeValue {
    /// `string`.
    public static var _attributeType: AttributeType { .string }
    /// Reads stored text.
    @inlinable
    public init(_field field: _FieldValue) throws { self = try field.string() }
    /// Writes text.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(string: self, at: index)
    }
    /// `string`.
    public var _recordValue: RecordValue { .string(self) }
}

extension Bool: AttributeValue {
    /// `bool`.
    public static var _attributeType: AttributeType { .bool }
    /// Reads a stored truth value, or the numbers 0 and 1.
    @inlinable
    public init(_field field: _FieldValue) throws { self = try field.bool() }
    /// Writes a truth value.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(bool: self, at: index)
    }
    /// `bool`.
    public var _recordValue: RecordValue { .bool(self) }
}

/// An integer type that an attribute can have.
public protocol _IntegerAttributeValue: AttributeValue, FixedWidthInteger {}

extension _IntegerAttributeValue {
    /// Reads a stored number; throws if it is out of the type's range.
    @inlinable
    public init(_field field: _FieldValue) throws {
        guard let number = Self(exactly: try field.int64()) else {
            throw FieldError(.integerOverflow)
        }
        self = number
    }
    /// Writes a number.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(int64: Int64(self), at: index)
    }
    /// `int64`.
    public var _recordValue: RecordValue { .int64(Int64(self)) }
}

extension Int: _IntegerAttributeValue {
    /// `int64`.
    public static var _attributeType: AttributeType { .int64 }
}
extension Int64: _IntegerAttributeValue {
    /// `int64`.
    public static var _attributeType: AttributeType { .int64 }
}
extension Int32: _IntegerAttributeValue {
    /// `int32`.
    public static var _attributeType: AttributeType { .int32 }
}
extension Int16: _IntegerAttributeValue {
    /// `int16`.
    public static var _attributeType: AttributeType { .int16 }
}

extension Double: AttributeValue {
    /// `double`.
    public static var _attributeType: AttributeType { .double }
    /// Reads a stored number.
    @inlinable
    public init(_field field: _FieldValue) throws { self = try field.double() }
    /// Writes a finite number; throws for NaN and infinity.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(double: self, at: index)
    }
    /// `double`.
    public var _recordValue: RecordValue { .double(self) }
}

extension Float: AttributeValue {
    /// `float`.
    public static var _attributeType: AttributeType { .float }
    /// Reads a stored number, rounded to a Float; throws if it is too large for one.
    @inlinable
    public init(_field field: _FieldValue) throws {
        let number = Float(try field.double())
        guard number.isFinite else { throw FieldError(.outOfRange) }
        self = number
    }
    /// Writes a finite number; throws for NaN and infinity.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(double: Double(self), at: index)
    }
    /// `double`.
    public var _recordValue: RecordValue { .double(Double(self)) }
}

extension Decimal: AttributeValue {
    /// `decimal`.
    public static var _attributeType: AttributeType { .decimal }
    /// Reads a stored decimal, or the shortest decimal of a stored double.
    @inlinable
    public init(_field field: _FieldValue) throws { self = try field.decimal() }
    /// Writes a decimal in full; throws for NaN.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(decimal: self, at: index)
    }
    /// `decimal`.
    public var _recordValue: RecordValue { .decimal(self) }
}

extension Date: AttributeValue {
    /// `date`.
    public static var _attributeType: AttributeType { .date }
    /// Reads a stored time.
    @inlinable
    public init(_field field: _FieldValue) throws {
        self.init(milliseconds: try field.milliseconds())
    }
    /// Writes the time, rounded to whole milliseconds; throws if it is not finite.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(date: self, at: index)
    }
    /// `date`, or null if the time is not finite.
    public var _recordValue: RecordValue {
        wholeMilliseconds.map { .date(milliseconds: $0) } ?? .null
    }
}

extension Data: AttributeValue {
    /// `data`.
    public static var _attributeType: AttributeType { .data }
    /// Reads stored bytes.
    @inlinable
    public init(_field field: _FieldValue) throws { self = try field.data() }
    /// Writes bytes.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(data: self, at: index)
    }
    /// `bytes`.
    public var _recordValue: RecordValue { .bytes(self) }
}

extension UUID: AttributeValue {
    /// `uuid`.
    public static var _attributeType: AttributeType { .uuid }
    /// Reads a stored UUID, or the UUID that a stored text spells.
    @inlinable
    public init(_field field: _FieldValue) throws { self = try field.uuid() }
    /// Writes a UUID.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(uuid: self, at: index)
    }
    /// `uuid`.
    public var _recordValue: RecordValue { .uuid(self) }
}

extension URL: AttributeValue {
    /// `url`.
    public static var _attributeType: AttributeType { .url }
    /// Reads stored text as a URL.
    @inlinable
    public init(_field field: _FieldValue) throws {
        guard let url = URL(string: try field.string()) else { throw field.mismatch() }
        self = url
    }
    /// Writes the URL's text.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(string: absoluteString, at: index)
    }
    /// `string`.
    public var _recordValue: RecordValue { .string(absoluteString) }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
    /// The type of the value, if there is one.
    public static var _attributeType: AttributeType { Wrapped._attributeType }
    /// True.
    public static var _isOptional: Bool { true }
    /// The entity that the id is of, for optional ids.
    public static var _referencedEntity: String? { Wrapped._referencedEntity }
    /// The raw values of the cases, for optional enums.
    public static var _allowedValues: [RecordValue]? { Wrapped._allowedValues }
    /// Reads a stored value; a stored null is nil.
    @inlinable
    public init(_field field: _FieldValue) throws {
        self = field.tag == .null ? nil : try Wrapped(_field: field)
    }
    /// Nil.
    @inlinable
    public static func _absent(at index: Int) throws -> Self { nil }
    /// Writes the value, or nothing for nil.
    @inlinable
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try self?._write(to: &writer, at: index)
    }
    /// The value, or `null` for nil.
    public var _recordValue: RecordValue { self?._recordValue ?? .null }
}
