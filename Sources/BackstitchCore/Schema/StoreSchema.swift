/// The entities of a store.
public struct StoreSchema: Sendable {
    /// The entities' Swift types, in the order given.
    public let types: [any Entity.Type]
    /// The description of each entity.
    public let entities: [EntitySchema]
    /// How new the schema is among those of a program; 0 unless given.
    ///
    /// Several versions of a program may use one store at once. Each binds its queries by its own schema. What one
    /// declares is added to what the store has; only a greater version than the store has seen takes something away:
    /// an index, `.unique`, a rule, an attribute. So raise it with a release that declares less.
    public let version: Int
    /// How values of attributes that changed their type are converted.
    public let upcasters: [Upcaster]

    /// A schema of entity types; opening a store checks it as a whole.
    public init(_ types: any Entity.Type..., version: Int = 0, upcasters: [Upcaster] = []) {
        self.init(types, version: version, upcasters: upcasters)
    }

    /// A schema of a list of entity types.
    public init(_ types: [any Entity.Type], version: Int = 0, upcasters: [Upcaster] = []) {
        self.types = types
        self.version = version
        entities = types.map { EntitySchema(of: $0) }
        self.upcasters = upcasters
    }

    /// The upcaster of an attribute.
    func upcaster(of attribute: AttributeSchema, in entity: EntitySchema) -> Upcaster? {
        upcasters.first { $0.entity == entity.name && $0.attribute == attribute.name }
    }

    /// The entity of a name.
    public func entity(named name: String) -> EntitySchema? {
        entities.first { $0.name == name }
    }
}
