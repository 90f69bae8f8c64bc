/// What of a catalog reading and writing one entity needs, looked up once.
package final class EntityTable: Sendable {
    package let number: EntityNumber
    package let name: String
    package let isDeclared: Bool
    package let attributes: [CatalogAttribute]
    /// The declared attributes that have an index.
    package let indexed: [CatalogAttribute]
    /// The indexes of several attributes or of folded texts, those that are being built among them.
    package let indexes: [TableIndex]
    /// The declared attributes that refer to other records.
    package let references: [CatalogAttribute]
    package let declaredFields: Set<FieldID>
    /// The attributes whose target can't go, nor come later, whether the schema still declares them
    /// or a later version of it did: what was written to them is pushed all the same.
    package let denyingReferences: [CatalogAttribute]
    /// The fields that are never pushed, as whoever declared them last has it.
    package let unsentFields: Set<FieldID>
    /// The fields that are never taken over from the service, as whoever declared them last has it.
    package let unreadFields: Set<FieldID>
    /// The declared attributes of which no two records may have the same value.
    package let unique: [CatalogAttribute]
    /// All attributes as records of the service are read, in the order of their fields.
    package let columns: [ServiceColumn]
    /// Those of them that the schema declares.
    let declaredColumns: [ServiceColumn]
    /// Whether the marks of rows may be those of another schema, so that whoever reads a row has to
    /// ask ``canRead(_:)-(PackedFields)``.
    package let isUnderExamination: Bool
    /// What queries must know of the entity by itself; ``CatalogSnapshot/binding(of:)`` also knows the others.
    package let binding: EntityBinding
    private let positionsByName: [String: Int]

    package init(_ entity: CatalogEntity) {
        number = entity.number
        name = entity.name
        isDeclared = entity.isDeclared
        attributes = entity.attributes
        let declared = entity.attributes.filter(\.isDeclared)
        indexed = declared.filter { $0.schema?.isIndexed == true }
        let indexes = (entity.indexes ?? []).compactMap { TableIndex($0, of: entity) }
        self.indexes = indexes
        references = declared.filter { $0.schema?.reference != nil }
        declaredFields = Set(declared.map(\.field))
        denyingReferences = attributes.filter { $0.schema?.reference?.onDelete == .deny }
        unsentFields = Set(attributes.filter { $0.schema?.isUploaded == false }.map(\.field))
        unreadFields = Set(attributes.filter { $0.schema?.isDownloaded == false }.map(\.field))
        unique = declared.filter { $0.schema?.isUnique == true }
        columns = entity.attributes.map(ServiceColumn.init)
        declaredColumns = declared.map(ServiceColumn.init)
        isUnderExamination = entity.needsExamination == true || entity.hasUnexamined == true
        positionsByName = Dictionary(
            uniqueKeysWithValues: entity.attributes.enumerated().map { ($1.name, $0) })
        let bindings = declared.compactMap { attribute in
            attribute.schema.map { schema in
                AttributeBinding(
                    name: schema.name, field: attribute.field, type: schema.type,
                    defaultValue: schema.defaultValue ?? .null,
                    isIndexed: schema.isIndexed && attribute.isBuilding != true,
                    target: schema.reference?.target)
            }
        }
        binding = EntityBinding(
            name: entity.name, number: entity.number, attributes: bindings,
            indexes: indexes.compactMap { $0.binding(in: bindings) })
    }

    /// The attribute of a field's name.
    package func attribute(named name: String) -> CatalogAttribute? {
        positionsByName[name].map { attributes[$0] }
    }

    /// Fields are numbered from 1 in the order of the attributes.
    package func attribute(_ field: FieldID) -> CatalogAttribute? {
        let index = Int(field.rawValue) - 1
        return attributes.indices.contains(index) ? attributes[index] : nil
    }

    /// The index of a number.
    package func index(_ number: UInt16) -> TableIndex? {
        indexes.first { $0.index.number == number }
    }

    /// The layout of a Swift type's attributes in this entity's rows.
    ///
    /// - Parameter external: Where the bytes of external attributes are.
    package func layout(
        of schema: EntitySchema, external: ExternalValues? = nil
    ) -> FieldLayout? {
        var fields: [FieldID] = []
        for attribute in schema.attributes {
            guard let found = self.attribute(named: attribute.fieldName) else { return nil }
            fields.append(found.field)
        }
        let hasExternal = schema.attributes.contains(where: \.isExternal)
        return FieldLayout(fields: fields, external: hasExternal ? external : nil)
    }
}

/// What reading a value of the service needs of an attribute. Small, so that going through the
/// columns of a table copies little.
package struct ServiceColumn: Sendable {
    package let name: String
    package let field: FieldID
    /// The declared type; nil if no schema declares the attribute.
    package let type: AttributeType?
    /// Whether a row without the attribute can't be read.
    package let isMandatory: Bool
    /// Whether the service's values are not taken over.
    package let isUnread: Bool
    /// The raw values of an enum's cases; nil if every value is one.
    package let allowedValues: [RecordValue]?

    init(_ attribute: CatalogAttribute) {
        name = attribute.name
        field = attribute.field
        let schema = attribute.isDeclared ? attribute.schema : nil
        type = schema?.type
        isMandatory = schema.map { !$0.isOptional && !$0.hasDefault } ?? false
        isUnread = schema?.isDownloaded == false
        allowedValues = schema?.allowedValues
    }
}

/// A catalog with its tables, as transactions use it.
package final class CatalogSnapshot: Sendable {
    package let catalog: Catalog
    package let tables: [EntityTable]
    /// Whether the marks of some rows may be those of another schema.
    package let isUnderExamination: Bool
    private let positionsByName: [String: Int]

    package init(_ catalog: Catalog) {
        self.catalog = catalog
        tables = catalog.entities.map(EntityTable.init)
        isUnderExamination = tables.contains(where: \.isUnderExamination)
        positionsByName = Dictionary(
            uniqueKeysWithValues: catalog.entities.enumerated().map { ($1.name, $0) })
    }

    /// A snapshot of a catalog that is another one's but for an entity, which may be new, and entities
    /// after its last one. What did not change is not looked at.
    package init(_ catalog: Catalog, after old: CatalogSnapshot, changedAt index: Int) {
        self.catalog = catalog
        var tables = old.tables
        var positions = old.positionsByName
        if tables.indices.contains(index) {
            tables[index] = EntityTable(catalog.entities[index])
        }
        for position in tables.count..<max(tables.count, catalog.entities.count) {
            tables.append(EntityTable(catalog.entities[position]))
            positions[catalog.entities[position].name] = position
        }
        self.tables = tables
        isUnderExamination = tables.contains(where: \.isUnderExamination)
        positionsByName = positions
    }

    package func table(named name: String) -> EntityTable? {
        positionsByName[name].map { tables[$0] }
    }

    /// Entities are numbered from 1 in the order of the catalog.
    package func table(_ number: EntityNumber) -> EntityTable? {
        let index = Int(number.rawValue) - 1
        return tables.indices.contains(index) ? tables[index] : nil
    }
}

extension CatalogSnapshot: EntityBindings {
    package func binding(named name: String) -> EntityBinding? {
        table(named: name).flatMap { $0.isDeclared ? binding(of: $0) : nil }
    }

    /// What queries must know of an entity and those that it is related to.
    package func binding(of table: EntityTable) -> EntityBinding {
        var binding = table.binding
        binding.entities = self
        return binding
    }
}
