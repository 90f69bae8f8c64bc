// What the compiler says about a property whose type can't be stored. These are chosen only if the
// type does not conform to `AttributeValue`, so that the reason comes with a remedy.

extension AttributeSchema {
    /// Refuses a type that can't be stored.
    @available(
        *, unavailable,
        message:
            "this type can't be stored as it is: add @Attribute(.codable) to store a Codable value as JSON"
    )
    @_disfavoredOverload
    public init<Unstorable>(
        _ name: String, _ type: Unstorable.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Unstorable? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses an enum that is not declared as an attribute.
    @available(
        *, unavailable,
        message:
            "an enum is stored by its raw values: conform it to EnumAttributeValue, as in 'enum Status: String, EnumAttributeValue'"
    )
    public init<Unstorable: RawRepresentable>(
        _ name: String, _ type: Unstorable.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Unstorable? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses an optional enum that is not declared as an attribute.
    @available(
        *, unavailable,
        message:
            "an enum is stored by its raw values: conform it to EnumAttributeValue, as in 'enum Status: String, EnumAttributeValue'"
    )
    public init<Unstorable: RawRepresentable>(
        _ name: String, _ type: Unstorable?.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Unstorable?? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses a list of enums that are not declared as attributes.
    @available(
        *, unavailable,
        message:
            "an enum is stored by its raw values: conform it to EnumAttributeValue, as in 'enum Status: String, EnumAttributeValue'"
    )
    public init<Unstorable: RawRepresentable>(
        _ name: String, _ type: [Unstorable].Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: [Unstorable]? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses a record in a record.
    @available(
        *, unavailable,
        message:
            "a record refers to another one by its id: store the id, as in 'var owner: Person.ID?'"
    )
    public init<Unstorable: Entity>(
        _ name: String, _ type: Unstorable.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Unstorable? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses an optional record in a record.
    @available(
        *, unavailable,
        message:
            "a record refers to another one by its id: store the id, as in 'var owner: Person.ID?'"
    )
    public init<Unstorable: Entity>(
        _ name: String, _ type: Unstorable?.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Unstorable?? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses a list of records in a record.
    @available(
        *, unavailable,
        message:
            "a record holds no other records: declare '@Relationship(inverse:) var tags: ToMany<Tag>', and the id of this record in the other entity"
    )
    public init<Unstorable: Entity>(
        _ name: String, _ type: [Unstorable].Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: [Unstorable]? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// An attribute that is spelled as the id of an entity, such as `Person.ID`, and is one.
    public init<Attribute: AttributeValue & RecordReference>(
        _ name: String, reference type: Attribute.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Attribute? = nil, onDelete rule: DeleteRule = .nullify
    ) {
        self.init(
            name, type, options: options, originalName: originalName, serviceName: serviceName,
            hasDefault: hasDefault, default: value, onDelete: rule)
    }

    /// An attribute that is spelled as the id of an entity, but is a plain value.
    @available(
        *, deprecated,
        message:
            "this ID is not that of an entity, so it is stored as a plain value without a relationship: make the other type an @Entity, or write the type of its ID, such as UUID"
    )
    @_disfavoredOverload
    public init<Attribute: AttributeValue>(
        _ name: String, reference type: Attribute.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Attribute? = nil, onDelete rule: DeleteRule = .nullify
    ) {
        self.init(
            name, type, options: options, originalName: originalName, serviceName: serviceName,
            hasDefault: hasDefault, default: value, onDelete: rule)
    }
}

extension _FieldReader {
    /// Never called: the schema of the type does not compile, and says why.
    @_disfavoredOverload
    public mutating func read<Unstorable>(
        _ type: Unstorable.Type, at index: Int, default value: @autoclosure () -> Unstorable? = nil
    ) throws -> Unstorable { fatalError("Does not compile.") }
}

extension _FieldWriter {
    /// Never called: the schema of the type does not compile, and says why.
    @_disfavoredOverload
    public mutating func write<Unstorable>(_ value: Unstorable, at index: Int) throws {
        fatalError("Does not compile.")
    }
}

// MARK: Embedded structs

extension AttributeSchema {
    /// Refuses an embedded struct that is declared as a plain attribute.
    @available(
        *, unavailable,
        message:
            "an @Embeddable struct is stored in parts: write '@Attribute(.embedded)' at the property"
    )
    public init<Part: _EmbeddableValue>(
        _ name: String, _ type: Part.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Part? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses an optional embedded struct.
    @available(
        *, unavailable,
        message:
            "an @Embeddable struct is stored in parts and can't be nil: write '@Attribute(.embedded)' at a property that is not optional, and make its parts optional"
    )
    public init<Part: _EmbeddableValue>(
        _ name: String, _ type: Part?.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Part?? = nil, onDelete rule: DeleteRule = .nullify
    ) { fatalError("Does not compile.") }

    /// Refuses to embed a type that is not declared for it.
    @available(
        *, unavailable,
        message:
            "only an @Embeddable struct can be embedded: write '@Embeddable' at its declaration"
    )
    @_disfavoredOverload
    public static func _parts<Unstorable>(
        _ name: String, _ type: Unstorable.Type, originalName: String? = nil,
        serviceName: String? = nil, default value: Unstorable? = nil
    ) -> [AttributeSchema] { fatalError("Does not compile.") }

    /// Never called: the schema of the type does not compile, and says why.
    @_disfavoredOverload
    public static func _partCount<Unstorable>(of type: Unstorable.Type) -> Int {
        fatalError("Does not compile.")
    }

    /// Never called: the schema of the type does not compile, and says why.
    @_disfavoredOverload
    public static func _partIndexes<Root, Unstorable>(
        of property: KeyPath<Root, Unstorable>, at index: Int
    ) -> [PartialKeyPath<Root>: Int] { fatalError("Does not compile.") }
}

extension _FieldReader {
    /// Never called: the schema of the type does not compile, and says why.
    @_disfavoredOverload
    public mutating func read<Unstorable>(
        embedded type: Unstorable.Type, at index: Int,
        default value: @autoclosure () -> Unstorable? = nil
    ) throws -> Unstorable { fatalError("Does not compile.") }

    /// Never called: the schema of the type does not compile, and says why.
    @_disfavoredOverload
    public mutating func read<Unstorable>(
        part type: Unstorable.Type, at index: Int, default value: @autoclosure () -> Unstorable?
    ) throws -> Unstorable { fatalError("Does not compile.") }
}

extension _FieldWriter {
    /// Never called: the schema of the type does not compile, and says why.
    @_disfavoredOverload
    public mutating func write<Unstorable>(embedded value: Unstorable, at index: Int) throws {
        fatalError("Does not compile.")
    }
}
