public import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// What a store must know to read and write one Swift type.
@usableFromInline
package final class TypeBinding: Sendable {
    package let name: String
    @usableFromInline package let number: EntityNumber
    @usableFromInline let layout: FieldLayout
    let schema: EntitySchema
    /// What was learned from queries of the type.
    let forms = Locked(PointLookupForms())

    init(name: String, number: EntityNumber, layout: FieldLayout, schema: EntitySchema) {
        self.name = name
        self.number = number
        self.layout = layout
        self.schema = schema
    }

    /// The name of the attribute at a position of the declaration, if a codec failed.
    func attributeName(at index: Int) -> String {
        schema.attributes.indices.contains(index)
            ? schema.attributes[index].name : "an attribute"
    }
}

/// The Swift types of a store's schema.
@usableFromInline
package struct TypeTable: Sendable {
    /// Few enough that looking through them is faster than hashing.
    @usableFromInline let bindings: [(type: ObjectIdentifier, binding: TypeBinding)]

    /// - Parameter external: Where the bytes of external attributes are.
    init(schema: StoreSchema, catalog: CatalogSnapshot, external: ExternalValues? = nil) {
        var bindings: [(type: ObjectIdentifier, binding: TypeBinding)] = []
        for (type, entity) in zip(schema.types, schema.entities) {
            guard let table = catalog.table(named: entity.name),
                let layout = table.layout(of: entity, external: external)
            else { continue }
            let binding = TypeBinding(
                name: entity.name, number: table.number, layout: layout, schema: entity)
            bindings.append((ObjectIdentifier(type), binding))
        }
        self.bindings = bindings
    }

    /// The types of a store whose files have the bytes of external attributes.
    init(
        _ schema: StoreSchema, _ catalog: CatalogSnapshot, _ environment: Environment,
        _ databases: Databases
    ) {
        self.init(
            schema: schema, catalog: catalog, external: ExternalValues(environment, databases))
    }

    @inlinable
    package func binding<Model: Entity>(of type: Model.Type) throws -> TypeBinding {
        let type = ObjectIdentifier(type)
        for entry in bindings where entry.type == type { return entry.binding }
        throw unknown(Model.entityName, "\(Model.self)")
    }

    @usableFromInline
    func unknown(_ entity: String, _ type: String) -> any Error {
        StoreError(
            .unknownEntity,
            "\(entity) is not in the schema that the store was opened with. Add \(type).self to "
                + "it.")
    }
}
