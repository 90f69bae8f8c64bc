/// Reads the attributes of one value from the body of a row.
///
/// Generated code reads attributes in declaration order, which the reader follows without a search
/// where the row is in that order too. A reader is valid inside the read that it was made for.
public struct FieldReader: ~Copyable {
    private let fields: PackedFields
    private let layout: FieldLayout
    /// The position in the row behind the field that was read last, and where its value begins.
    private var next = 0
    private var nextStart = 0
    /// The position of the attribute that was read last.
    package private(set) var lastIndex = -1

    package init(fields: PackedFields, layout: FieldLayout) {
        self.fields = fields
        self.layout = layout
    }

    /// Reads the attribute at a position of the declaration.
    ///
    /// - Throws: an error that tells why the stored value can't be read: none is there and the
    ///   attribute is not optional, it is of another type, or its bytes are damaged.
    @inlinable
    public mutating func read<Attribute: AttributeValue>(
        _ type: Attribute.Type, at index: Int
    ) throws -> Attribute {
        guard let field = try storedField(at: index) else { return try Attribute.absent(at: index) }
        return try Attribute(field: field)
    }

    /// Reads the attribute at a position of the declaration, or its default where the row has none.
    @inlinable
    public mutating func read<Attribute: AttributeValue>(
        _ type: Attribute.Type, at index: Int, default value: @autoclosure () -> Attribute
    ) throws -> Attribute {
        guard let field = try storedField(at: index) else { return value() }
        return try Attribute(field: field)
    }

    /// The stored value of the attribute at a position of the declaration; nil where none is there.
    @usableFromInline
    mutating func storedField(at index: Int) throws -> FieldValue? {
        precondition(index < layout.fields.count, "A codec read an attribute that it lacks.")
        lastIndex = index
        let field = layout.fields[index]
        if next < fields.count {
            let found = fields.field(at: next)
            if found == field {
                defer { next += 1 }
                return try fields.value(at: next, startingAt: &nextStart)
            }
            if layout.isAscending, field < found { return nil }
        } else if layout.isAscending {
            return try fields.value(of: field)
        }
        guard let position = fields.position(of: field) else { return nil }
        next = position + 1
        nextStart = position == 0 ? 0 : fields.end(at: position - 1)
        return try fields.value(at: position, startingAt: &nextStart)
    }
}
