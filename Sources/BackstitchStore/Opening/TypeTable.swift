import BackstitchCore

/// What a store must know to read and write one Swift type.
final class TypeBinding: Sendable {
    let name: String
    let number: EntityNumber
    let layout: FieldLayout
    let schema: EntitySchema

    init(name: String, number: EntityNumber, layout: FieldLayout, schema: EntitySchema) {
        self.name = name
        self.number = number
        self.layout = layout
        self.schema = schema
    }

    /// The name of the attribute that a codec failed at.
    func attributeName(_ error: FieldError) -> String {
        schema.attributes.indices.contains(error.index)
            ? schema.attributes[error.index].name : "an attribute"
    }
}

/// The Swift types of a store's schema.
struct TypeTable: Sendable {
    private let bindings: [ObjectIdentifier: TypeBinding]

    init(schema: Schema, catalog: CatalogSnapshot) {
        var bindings: [ObjectIdentifier: TypeBinding] = [:]
        for (type, entity) in zip(schema.types, schema.entities) {
            guard let table = catalog.table(named: entity.name),
                let layout = table.layout(of: entity)
            else { continue }
            bindings[ObjectIdentifier(type)] = TypeBinding(
                name: entity.name, number: table.number, layout: layout, schema: entity)
        }
        self.bindings = bindings
    }

    func binding<Model: Entity>(of type: Model.Type) throws -> TypeBinding {
        guard let binding = bindings[ObjectIdentifier(type)] else {
            throw StoreError(
                .unknownEntity,
                "\(Model.entityName) is not in the schema that the store was opened with. Add "
                    + "\(Model.self).self to it.")
        }
        return binding
    }
}
