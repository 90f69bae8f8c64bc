extension RecordValue {
    /// The value as an attribute of a type has it; nil if it is not of that type.
    ///
    /// Numbers go if they mean the same: an integer is also a double and a decimal, 0 and 1 are
    /// also truth values. Text that spells a UUID is one. Null is a value of every type.
    package func converted(to type: AttributeType) -> RecordValue? {
        switch self {
        case .null: self
        case .list(let elements): type.element.flatMap { Self.list(elements, of: $0) }
        default: type.traits?.converted(self)
        }
    }

    private static func list(_ elements: [RecordValue], of type: AttributeType) -> RecordValue? {
        let converted = elements.compactMap { $0 == .null ? nil : $0.converted(to: type) }
        return converted.count == elements.count ? .list(converted) : nil
    }
}
