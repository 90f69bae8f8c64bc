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
    private let positions: [String: Int]
    /// The entities of the same store; nil if only this one is known.
    package var entities: (any EntityBindings)?

    /// An entity by its attributes, whose names differ.
    package init(name: String, number: EntityNumber, attributes: [AttributeBinding]) {
        self.name = name
        self.number = number
        self.attributes = attributes
        positions = Dictionary(
            uniqueKeysWithValues: attributes.enumerated().map { ($1.name, $0) })
    }

    /// The attribute of a name; throws if there is none.
    package func attribute(named name: String) throws(QueryError) -> AttributeBinding {
        guard let position = positions[name] else {
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
            && left.attributes == right.attributes
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
