/// The entities of a store.
public struct Schema: Sendable {
    /// The entities' Swift types, in the order given.
    public let types: [any Entity.Type]
    /// What the store must know of each.
    public let entities: [EntitySchema]

    /// A schema of entity types; opening a store checks it as a whole.
    public init(_ types: any Entity.Type...) {
        self.init(types)
    }

    /// A schema of a list of entity types.
    public init(_ types: [any Entity.Type]) {
        self.types = types
        entities = types.map { $0.entitySchema }
    }

    /// The entity of a name.
    public func entity(named name: String) -> EntitySchema? {
        entities.first { $0.name == name }
    }
}
