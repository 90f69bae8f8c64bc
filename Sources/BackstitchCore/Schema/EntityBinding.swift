/// What a query must know of an attribute in one store.
package struct AttributeBinding: Hashable, Sendable {
    package let name: String
    package let field: FieldID
    package let type: AttributeType
    /// What a row without the field reads as; null for an attribute without a default.
    package let defaultValue: RecordValue
    /// Whether an index holds every record of the entity under its effective value.
    package let isIndexed: Bool
    /// Whether the inverse index holds the records under the record that they refer to.
    package let hasInverse: Bool
    /// The name of the entity that a reference points to; nil for other types.
    package let target: String?
    /// What is made of the stored value; nil if that counts itself.
    package let derivation: Derivation?
    /// Where an index over several attributes has the values; nil if that of the attribute is meant.
    package private(set) var place: IndexPlace?

    /// An attribute by its parts; references have an inverse index unless told otherwise.
    package init(
        name: String, field: FieldID, type: AttributeType, defaultValue: RecordValue = .null,
        isIndexed: Bool = false, hasInverse: Bool? = nil, target: String? = nil
    ) {
        self.name = name
        self.field = field
        self.type = type
        self.defaultValue = defaultValue.converted(to: type) ?? .null
        self.isIndexed = isIndexed
        self.hasInverse = hasInverse ?? (type == .reference)
        self.target = target
        derivation = nil
    }

    /// An attribute that is derived from another one, and has no index by itself.
    init(_ attribute: AttributeBinding, _ derivation: Derivation, type: AttributeType) {
        name = derivation.name(of: attribute.name)
        field = attribute.field
        self.type = type
        defaultValue = derivation.apply(attribute.defaultValue)
        isIndexed = false
        hasInverse = false
        target = nil
        self.derivation = derivation
    }

    /// The same as an index over several attributes has it.
    func placed(_ place: IndexPlace) -> AttributeBinding {
        var attribute = self
        attribute.place = place
        return attribute
    }

    /// Whether both are the same attribute, or are derived from it in the same way.
    func isSame(as other: AttributeBinding) -> Bool { name == other.name }

    /// What a stored value counts as.
    @inline(__always)
    func effective(_ value: _FieldValue) -> RecordValue {
        guard let derivation else { return value.stored(as: type) }
        return derivation.apply(value.stored(as: type))
    }
}

/// Where an index has the values of an attribute: after those of others that are the same in all entries
/// that are read.
package struct IndexPlace: Hashable, Sendable {
    /// The number of the index in its entity.
    package let number: UInt16
    /// The encoded values in front.
    package let prefix: [UInt8]
    /// The types of the values behind it.
    package let rest: [AttributeType]
    /// The most escaped bytes of a text.
    package let textBytesMax: Int

    package init(number: UInt16, prefix: [UInt8], rest: [AttributeType], textBytesMax: Int) {
        self.number = number
        self.prefix = prefix
        self.rest = rest
        self.textBytesMax = textBytesMax
    }
}

/// An index over one or several attributes, or what is derived from them, in their order.
package struct IndexBinding: Hashable, Sendable {
    /// Its number in the entity.
    package let number: UInt16
    package let parts: [AttributeBinding]

    package init(number: UInt16, parts: [AttributeBinding]) {
        self.number = number
        self.parts = parts
    }

    /// The most escaped bytes that a key keeps of each text.
    package var textBytesMax: Int { OrderedKey.textBytesMax(of: parts.map(\.type)) }

    /// An attribute of the index, behind values that are the same in all entries.
    func attribute(at position: Int, behind prefix: [UInt8]) -> AttributeBinding {
        parts[position].placed(
            IndexPlace(
                number: number, prefix: prefix, rest: parts[(position + 1)...].map(\.type),
                textBytesMax: textBytesMax))
    }
}

extension AttributeBinding {
    /// Throws if values of the attribute have no order.
    ///
    /// - Parameter purpose: What a query does with the attribute, to stand before its name.
    func requireOrder(to purpose: String, in entity: EntityBinding) throws(QueryError) {
        guard !type.isOrdered else { return }
        throw QueryError.withoutOrder("\(purpose) \(name)", type, in: entity)
    }
}

extension QueryError {
    /// The error for a query that needs an order of lists or places.
    static func withoutOrder(
        _ purpose: String, _ type: AttributeType, in entity: EntityBinding
    ) -> QueryError {
        QueryError(
            .typeMismatch,
            "A query of \(entity.name) \(purpose), which is a \(type). Lists and places "
                + "have no order: keep what is to be ordered, such as a number of elements or a "
                + "latitude, in an attribute of its own, or order the answer in Swift.")
    }
}

/// What a query must know of an entity in one store.
package struct EntityBinding: Hashable, Sendable {
    package let name: String
    package let number: EntityNumber
    package let attributes: [AttributeBinding]
    /// The indexes that are declared apart from an attribute, and complete.
    package let indexes: [IndexBinding]
    private let positions: [String: Int]
    /// The entities of the same store; nil if only this one is known.
    package var entities: (any EntityBindings)?

    /// An entity by its attributes. Of those with one name, which only several versions of a program can give, the
    /// first is found by it.
    package init(
        name: String, number: EntityNumber, attributes: [AttributeBinding],
        indexes: [IndexBinding] = []
    ) {
        self.name = name
        self.number = number
        self.attributes = attributes
        self.indexes = indexes
        positions = Dictionary(attributes.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    /// The attribute of a name; throws if there is none.
    package func attribute(named name: String) throws(QueryError) -> AttributeBinding {
        guard let position = positions[name] else {
            if let derived = try derivedAttribute(named: name) { return derived }
            throw QueryError(
                .unknownAttribute,
                "\(self.name) has no attribute \(name). It has: "
                    + attributes.map(\.name).joined(separator: ", ") + ".")
        }
        return attributes[position]
    }
}

extension EntityBinding {
    /// Whether two bindings say the same of an entity.
    package static func == (left: EntityBinding, right: EntityBinding) -> Bool {
        left.name == right.name && left.number == right.number
            && left.attributes == right.attributes && left.indexes == right.indexes
    }

    /// Hashes the name and the number.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(number)
    }
}

/// The entities of a store, as queries that follow relationships ask for them.
package protocol EntityBindings: Sendable {
    /// The entity of a name; nil if there is none.
    func binding(named name: String) -> EntityBinding?
}
