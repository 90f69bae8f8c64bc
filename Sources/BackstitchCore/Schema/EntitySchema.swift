/// The description of an entity: its name, its stored attributes and its to-many views.
public struct EntitySchema: Hashable, Sendable {
    /// The entity's name, and its record type on the service.
    public let name: String
    /// The stored attributes in declaration order, to-one relationships among them.
    public let attributes: [AttributeSchema]
    /// The to-many relationships, which are answered from the other side.
    public let toMany: [_ToManySchema]
    /// The indexes that are declared apart from an attribute.
    package private(set) var indexes: [IndexSchema] = []

    /// The description of a type, with its indexes.
    init<Model: Entity>(of type: Model.Type) {
        self = type.entitySchema
        indexes = type.indexes.map(\.schema)
    }

    /// An entity by its name, attributes and to-many relationships.
    public init(name: String, attributes: [AttributeSchema], toMany: [_ToManySchema] = []) {
        self.name = name
        self.attributes = attributes
        self.toMany = toMany
    }
}

/// Where a to-one relationship points, and what happens when its target is deleted.
public struct ReferenceSchema: Hashable, Sendable, Codable {
    /// The name of the entity that it points to.
    public let target: String
    /// The effect of deleting the target on the record that refers to it.
    public let onDelete: AttributeSchema.DeleteRule

    /// A reference to an entity by name.
    public init(target: String, onDelete: AttributeSchema.DeleteRule) {
        self.target = target
        self.onDelete = onDelete
    }
}

extension AttributeSchema {
    /// The effect of deleting a record on the records that refer to it.
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
}

/// A to-many relationship: the records of another entity whose reference points here.
public struct _ToManySchema: Hashable, Sendable {
    /// The property's name.
    public let name: String
    /// The name of the entity at the other end.
    public let target: String
    /// The name of the to-one attribute there that points back; nil if the key path names none.
    public let inverse: @Sendable () -> String?
    /// The property, as conditions name it.
    let keyPath: any AnyKeyPath & Sendable

    /// A to-many relationship that is the inverse of a to-one.
    public init<Owner: Entity, Target: Entity, Reference>(
        _ name: String, at keyPath: any KeyPath<Owner, ToMany<Target>> & Sendable,
        inverse: any KeyPath<Target, Reference> & Sendable
    ) {
        self.name = name
        self.keyPath = keyPath
        target = Target.entityName
        self.inverse = {
            Target.attributeIndexes[inverse].map { Target.entitySchema.attributes[$0].name }
        }
    }

    /// Whether two relationships have the same name and ends.
    public static func == (left: _ToManySchema, right: _ToManySchema) -> Bool {
        left.name == right.name && left.target == right.target && left.inverse() == right.inverse()
    }

    /// Hashes the name and the target.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(target)
    }
}
