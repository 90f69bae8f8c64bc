/// Reads the attributes of one value from the body of a row.
///
/// Generated code reads attributes in declaration order, which the reader follows without a search
/// if the row is in that order too. A reader is valid inside the read that it was made for.
public struct _FieldReader: ~Copyable {
    @usableFromInline let fields: PackedFields
    @usableFromInline let layout: FieldLayout
    /// The position in the row after the field that was read last.
    @usableFromInline var next = 0
    /// The position of the attribute that was read last.
    @usableFromInline package internal(set) var lastIndex = -1

    @inlinable
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
        guard let field = try storedField(at: index) else {
            return try Attribute._absent(at: index)
        }
        return try Attribute(_field: field)
    }

    /// Reads the attribute at a position of the declaration, or its default if the row has none.
    @inlinable
    public mutating func read<Attribute: AttributeValue>(
        _ type: Attribute.Type, at index: Int, default value: @autoclosure () -> Attribute
    ) throws -> Attribute {
        guard let field = try storedField(at: index) else { return value() }
        return try Attribute(_field: field)
    }

    /// The stored value of the attribute at a position of the declaration; nil if none is there.
    @inlinable @inline(__always)
    mutating func storedField(at index: Int) throws(FieldError) -> _FieldValue? {
        precondition(index < layout.fields.count, "A codec read an attribute that it lacks.")
        lastIndex = index
        let field = layout.fields[index]
        guard next < fields.count, unsafe fields.field(at: next) == field else {
            return try searched(field)
        }
        next += 1
        return try unsafe fields.value(at: next - 1)
    }

    /// The stored value of a field that is not the next one.
    @usableFromInline
    mutating func searched(_ field: FieldID) throws(FieldError) -> _FieldValue? {
        if layout.isAscending {
            guard next < fields.count else { return try fields.value(of: field) }
            if unsafe field < fields.field(at: next) { return nil }
        }
        guard let position = fields.position(of: field) else { return nil }
        next = position + 1
        return try unsafe fields.value(at: position)
    }
}
