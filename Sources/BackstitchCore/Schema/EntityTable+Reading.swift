import Foundation

extension EntityTable {
    /// Whether a type with all that the catalog declares can read a row's fields, which the row's mark says.
    ///
    /// What a coded value decodes to is not asked: only its type knows.
    /// - Throws: `FieldError` if the bounds of a value are damaged.
    package func canRead(_ fields: PackedFields) throws(FieldError) -> Bool {
        try markedColumns.canRead(fields)
    }

    /// The same for fields that are not packed.
    package func canRead(_ fields: Fields) -> Bool { markedColumns.canRead(fields) }

    /// Whether the program's own type can read a row's fields.
    ///
    /// - Throws: `FieldError` if the bounds of a value are damaged.
    package func reads(_ fields: PackedFields) throws(FieldError) -> Bool {
        try declaredColumns.canRead(fields)
    }

    /// The same for fields that are not packed.
    package func reads(_ fields: Fields) -> Bool { declaredColumns.canRead(fields) }
}

extension [ServiceColumn] {
    fileprivate func canRead(_ fields: PackedFields) throws(FieldError) -> Bool {
        for column in self {
            guard let value = try fields.value(of: column.field), value.tag != .null else {
                if column.isMandatory { return false }
                continue
            }
            if !column.canRead(value) { return false }
        }
        return true
    }

    fileprivate func canRead(_ fields: Fields) -> Bool {
        allSatisfy { column in
            let value = fields.value(column.field)
            return value == .null ? !column.isMandatory : column.canRead(value)
        }
    }
}

extension ServiceColumn {
    fileprivate func canRead(_ value: _FieldValue) -> Bool {
        guard let type else { return true }
        if allowedValues == nil, let tag = type.plainTag, value.tag == tag { return true }
        return (try? value.decoded()).map(canRead) ?? false
    }

    fileprivate func canRead(_ value: RecordValue) -> Bool {
        guard let type else { return true }
        guard value.isReadable(as: type) else { return false }
        guard let allowedValues else { return true }
        // The cases are in the attribute's type, which a stored value need not be.
        return value.read(as: type).isAmong(allowedValues)
    }
}

extension AttributeType {
    /// The tag of values that the type reads whatever they are; nil if it depends on the value.
    fileprivate var plainTag: FieldTag? {
        traits.flatMap { $0.readsAll ? $0.tag : nil }
    }
}

extension RecordValue {
    /// Whether a stored value can be read as an attribute of a type; the types' own
    /// `init(field:)` does just that.
    func isReadable(as type: AttributeType) -> Bool {
        if case .list(let elements) = self {
            return type.element.map { element in
                elements.allSatisfy { $0.isReadable(as: element) }
            } ?? false
        }
        return type.traits?.isReadable(self) ?? false
    }

    /// The value as a reader of the type gets it, for those types that enums can have.
    fileprivate func read(as type: AttributeType) -> RecordValue {
        switch (self, type) {
        case (.bool(let truth), .int16), (.bool(let truth), .int32), (.bool(let truth), .int64):
            .int64(truth ? 1 : 0)
        case (.double(let number), .float): .double(Double(Float(number)))
        case (.list(let elements), _):
            .list(elements.map { value in type.element.map { value.read(as: $0) } ?? value })
        default: converted(to: type) ?? self
        }
    }
}

extension Decimal {
    /// The decimal that a text spells as a whole; Foundation takes the start of any text.
    package init?(whole text: String) {
        let isNumber = text.utf8.allSatisfy { byte in
            (48...57).contains(byte) || [43, 45, 46, 69, 101].contains(byte)
        }
        guard isNumber, Double(text) != nil, let decimal = Decimal(string: text),
            decimal.isFinite
        else { return nil }
        self = decimal
    }
}
