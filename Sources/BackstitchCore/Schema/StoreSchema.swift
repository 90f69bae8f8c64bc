/// The entities of a store.
public struct StoreSchema: Sendable {
    /// The entities' Swift types, in the order given.
    public let types: [any Entity.Type]
    /// The description of each entity.
    public let entities: [EntitySchema]
    /// How values of attributes that changed their type are converted.
    public let upcasters: [Upcaster]

    /// A schema of entity types; opening a store checks it as a whole.
    public init(_ types: any Entity.Type..., upcasters: [Upcaster] = []) {
        self.init(types, upcasters: upcasters)
    }

    /// A schema of a list of entity types.
    public init(_ types: [any Entity.Type], upcasters: [Upcaster] = []) {
        self.types = types
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
