/// A struct whose properties are stored as attributes of the record that holds it.
///
/// The `@Embeddable` macro writes the conformance; there is no reason to write it by hand.
public protocol _EmbeddableValue: Sendable {
    /// The attributes of the parts, by their own names, in declaration order.
    ///
    /// - Parameter value: The initial value of the property, which gives parts their defaults.
    static func _parts(default value: Self?) -> [AttributeSchema]
    /// The number of parts, those of embedded parts among them.
    static var _partCount: Int { get }
    /// The position of each part.
    static var _partIndexes: [PartialKeyPath<Self>: Int] { get }
    /// Reads a value whose first part is at a position of the declaration.
    ///
    /// - Parameter value: What gives the parts that the row lacks; nil if nothing does.
    static func _read(
        from fields: inout _FieldReader, at index: Int, default value: @autoclosure () -> Self?
    ) throws -> Self
    /// Writes the parts, the first at a position of the declaration.
    func _write(to fields: inout _FieldWriter, at index: Int) throws
}

extension AttributeSchema {
    /// The attributes of an embedded struct: `size_width` is the part `width` of the property `size`.
    ///
    /// - Parameters:
    ///   - originalName: The property's first name, with which the names of the fields begin.
    ///   - serviceName: What the names of the fields begin with, if that is another name.
    public static func _parts<Part: _EmbeddableValue>(
        _ name: String, _ type: Part.Type, originalName: String? = nil, serviceName: String? = nil,
        default value: Part? = nil
    ) -> [AttributeSchema] {
        Part._parts(default: value).map {
            AttributeSchema(part: $0, of: name, fieldName: serviceName ?? originalName ?? name)
        }
    }

    /// The number of attributes of an embedded struct.
    @inlinable
    public static func _partCount<Part: _EmbeddableValue>(of type: Part.Type) -> Int {
        Part._partCount
    }

    /// The positions of the attributes of an embedded struct, by key paths of what holds it.
    public static func _partIndexes<Root, Part: _EmbeddableValue>(
        of property: KeyPath<Root, Part>, at index: Int
    ) -> [PartialKeyPath<Root>: Int] {
        var indexes: [PartialKeyPath<Root>: Int] = [:]
        for (part, position) in Part._partIndexes {
            guard let path = (property as AnyKeyPath).appending(path: part) as? PartialKeyPath<Root>
            else { preconditionFailure("A part's key path begins with its struct.") }
            indexes[path] = index + position
        }
        return indexes
    }

    /// The positions of attributes together with those of embedded structs.
    public static func _indexes<Root>(
        _ indexes: [PartialKeyPath<Root>: Int], _ parts: [PartialKeyPath<Root>: Int]...
    ) -> [PartialKeyPath<Root>: Int] {
        parts.reduce(indexes) { $0.merging($1) { first, _ in first } }
    }

    private init(part: AttributeSchema, of name: String, fieldName: String) {
        self.init(
            name: "\(name)_\(part.name)", type: part.type, isOptional: part.isOptional,
            hasDefault: part.hasDefault, defaultValue: part.defaultValue,
            isIndexed: part.isIndexed, isLossless: part.isLossless, reference: part.reference,
            fieldName: "\(fieldName)_\(part.fieldName)", isUnique: part.isUnique,
            isUploaded: part.isUploaded, isDownloaded: part.isDownloaded,
            allowedValues: part.allowedValues, isExternal: part.isExternal,
            isAfterwards: part.isAfterwards)
    }
}

extension _FieldReader {
    /// Reads an embedded struct whose first part is at a position of the declaration.
    @inlinable
    public mutating func read<Part: _EmbeddableValue>(
        embedded type: Part.Type, at index: Int, default value: @autoclosure () -> Part? = nil
    ) throws -> Part {
        try Part._read(from: &self, at: index, default: value())
    }

    /// Reads a part that has no initial value of its own.
    @inlinable
    public mutating func read<Attribute: AttributeValue>(
        part type: Attribute.Type, at index: Int, default value: @autoclosure () -> Attribute?
    ) throws -> Attribute {
        if let field = try storedField(at: index) { return try Attribute(_field: field) }
        return try value() ?? Attribute._absent(at: index)
    }
}

extension _FieldWriter {
    /// Writes an embedded struct, its first part at a position of the declaration.
    @inlinable
    public mutating func write<Part: _EmbeddableValue>(embedded value: Part, at index: Int) throws {
        try value._write(to: &self, at: index)
    }
}
