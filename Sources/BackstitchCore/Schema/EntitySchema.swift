/// What a store must know of an entity: its name, its stored attributes and its to-many views.
public struct EntitySchema: Hashable, Sendable {
    /// The entity's name, and its record type on the service.
    public let name: String
    /// The stored attributes in declaration order, to-one relationships among them.
    public let attributes: [AttributeSchema]
    /// The to-many relationships, which are answered from the other side.
    public let toMany: [ToManySchema]

    /// An entity by its name, attributes and to-many relationships.
    public init(name: String, attributes: [AttributeSchema], toMany: [ToManySchema] = []) {
        self.name = name
        self.attributes = attributes
        self.toMany = toMany
    }
}

/// What a store must know of a stored attribute.
public struct AttributeSchema: Hashable, Sendable, Codable {
    /// The attribute's name, and its field on the service.
    public let name: String
    /// The stored type.
    public let type: AttributeType
    /// Whether nil is a value.
    public let isOptional: Bool
    /// Whether the type declares a default for rows that lack the attribute.
    public let hasDefault: Bool
    /// The default, where it is a literal: what queries see in rows that lack the attribute.
    public let defaultValue: Value?
    /// Whether an index keeps records sorted by the attribute.
    public let isIndexed: Bool
    /// Whether a `Decimal` travels as text, which keeps every digit, and not as a double.
    public let isLossless: Bool
    /// For to-one relationships: where it points and what a delete of the target does.
    public let reference: ReferenceSchema?

    /// Whether there is nothing to read in a row without the attribute.
    package var isMandatory: Bool { !isOptional && !hasDefault }

    /// An attribute by its stored properties.
    public init(
        name: String, type: AttributeType, isOptional: Bool = false, hasDefault: Bool = false,
        defaultValue: Value? = nil, isIndexed: Bool = false, isLossless: Bool = false,
        reference: ReferenceSchema? = nil
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.hasDefault = hasDefault
        self.defaultValue = defaultValue
        self.isIndexed = isIndexed
        self.isLossless = isLossless
        self.reference = reference
    }

    /// An attribute of a Swift type, as the `@Entity` macro declares it.
    public init<Attribute: AttributeValue>(
        _ name: String, _ type: Attribute.Type, options: [AttributeOption] = [],
        hasDefault: Bool = false, default value: Attribute? = nil,
        onDelete rule: DeleteRule = .nullify
    ) {
        self.init(
            name: name, type: Attribute.attributeType, isOptional: Attribute.isOptional,
            hasDefault: hasDefault, defaultValue: value.map(\.value),
            isIndexed: options.contains(.indexed),
            isLossless: options.contains(.lossless),
            reference: Attribute.referencedEntity.map {
                ReferenceSchema(target: $0, onDelete: rule)
            })
    }
}

/// Where a to-one relationship points, and what happens when its target is deleted.
public struct ReferenceSchema: Hashable, Sendable, Codable {
    /// The name of the entity that it points to.
    public let target: String
    /// What a delete of the target does to the record that points to it.
    public let onDelete: DeleteRule

    /// A reference to an entity by name.
    public init(target: String, onDelete: DeleteRule) {
        self.target = target
        self.onDelete = onDelete
    }
}

/// What deleting a record does to the records that refer to it.
public enum DeleteRule: String, Hashable, Sendable, Codable {
    /// They are deleted too; DELETE_SELF on the service.
    case cascade
    /// Their reference becomes nil; NONE on the service. The default.
    case nullify
    /// The delete fails while there are any; VALIDATE on the service.
    case deny
    /// Nothing: their reference dangles and reads as nil, its id stays; NONE on the service.
    case noAction
}

/// What `@Attribute` can say of an attribute.
public enum AttributeOption: Hashable, Sendable {
    /// Keeps an index, so that queries by the attribute and sorts by it need not read every row.
    case indexed
    /// For `Decimal`: sends the number as text, which keeps every digit, and not as a double.
    case lossless
}

/// A to-many relationship: the records of another entity whose reference points here.
public struct ToManySchema: Hashable, Sendable {
    /// The property's name.
    public let name: String
    /// The name of the entity at the other end.
    public let target: String
    /// The name of the to-one attribute there that points back; nil where the key path names none.
    public let inverse: @Sendable () -> String?

    /// A to-many relationship that is the inverse of a to-one.
    public init<Target: Entity, Reference>(
        _ name: String, inverse: any KeyPath<Target, Reference> & Sendable
    ) {
        self.name = name
        target = Target.entityName
        self.inverse = {
            Target.attributeIndexes[inverse].map { Target.entitySchema.attributes[$0].name }
        }
    }

    /// Whether two relationships have the same name and ends.
    public static func == (left: ToManySchema, right: ToManySchema) -> Bool {
        left.name == right.name && left.target == right.target && left.inverse() == right.inverse()
    }

    /// Hashes the name and the target.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(target)
    }
}
