/// What of a catalog reading and writing one entity needs, looked up once.
///
/// Several versions of a program may use a store. What the tables hold follows from the catalog, which is the same for
/// all: indexes, unique values, marks, and what is exchanged. What a program sees follows from its own schema: names,
/// types, queries, and which records it can read.
package final class EntityTable: Sendable {
    package let number: EntityNumber
    package let name: String
    package let isDeclared: Bool
    /// The attributes as the catalog has them.
    package let stored: [CatalogAttribute]
    /// The attributes as the program declares them; others count as not declared, unless it declares nothing of the
    /// entity.
    package let attributes: [CatalogAttribute]
    /// The declared attributes that have an index.
    package let indexed: [CatalogAttribute]
    /// The indexes of several attributes or of folded texts, those that are being built among them.
    package let indexes: [TableIndex]
    /// The declared attributes that refer to other records. Their rules are the program's, but for a rule that
    /// denies: that is obeyed whoever declares it.
    package let references: [CatalogAttribute]
    package let declaredFields: Set<FieldID>
    /// The attributes whose target can't go, nor come later, whether the schema still declares them
    /// or a later version of it did: what was written to them is pushed all the same.
    package let denyingReferences: [CatalogAttribute]
    /// The fields that are never pushed, by the last declaration of each.
    package let unsentFields: Set<FieldID>
    /// The fields that are never taken over from the service, by the last declaration of each.
    package let unreadFields: Set<FieldID>
    /// The declared attributes of which no two records may have the same value.
    package let unique: [CatalogAttribute]
    /// All attributes as records of the service are read, in the order of their fields.
    package let columns: [ServiceColumn]
    /// Those of them that a schema declares, which the marks of rows follow.
    let markedColumns: [ServiceColumn]
    /// The attributes that the program declares.
    let declaredColumns: [ServiceColumn]
    /// Whether the marks of rows say what the catalog can read, and the program reads otherwise.
    package let isReadOtherwise: Bool
    /// Whether the marks of rows may be those of another schema, so that whoever reads a row has to
    /// ask ``reads(_:)-(PackedFields)``.
    package let isUnderExamination: Bool
    /// What queries must know of the entity by itself; ``CatalogSnapshot/binding(of:)`` also knows the others.
    package let binding: EntityBinding
    private let positionsByName: [String: Int]

    /// - Parameter schema: What the program declares of the entity; nil if it has no type for it.
    package init(_ entity: CatalogEntity, declaredBy schema: EntitySchema? = nil) {
        let own = schema.map { entity.declared(by: $0) } ?? entity
        number = entity.number
        name = entity.name
        isDeclared = own.isDeclared
        stored = entity.attributes
        attributes = own.attributes
        let marked = entity.attributes.filter(\.isDeclared)
        indexed = marked.filter { $0.schema?.isIndexed == true }
        let indexes = (entity.indexes ?? []).compactMap { TableIndex($0, of: entity) }
        self.indexes = indexes
        references = zip(entity.attributes, own.attributes).compactMap {
            kept, own -> CatalogAttribute? in
            guard kept.isDeclared, let rule = kept.schema?.reference?.onDelete else { return nil }
            let isOwn = rule != .deny && own.isDeclared && own.schema?.reference != nil
            return isOwn ? own : kept
        }
        let declared = own.attributes.filter(\.isDeclared)
        declaredFields = Set(declared.map(\.field))
        denyingReferences = stored.filter { $0.schema?.reference?.onDelete == .deny }
        unsentFields = Set(stored.filter { $0.schema?.isUploaded == false }.map(\.field))
        unreadFields = Set(stored.filter { $0.schema?.isDownloaded == false }.map(\.field))
        unique = marked.filter { $0.schema?.isUnique == true }
        columns = entity.attributes.map(ServiceColumn.init)
        markedColumns = marked.map(ServiceColumn.init)
        declaredColumns = declared.map(ServiceColumn.init)
        let isReadOtherwise = own != entity && own.readingPlan != entity.readingPlan
        self.isReadOtherwise = isReadOtherwise
        isUnderExamination =
            isReadOtherwise || entity.needsExamination == true || entity.hasUnexamined == true
        positionsByName = Dictionary(
            uniqueKeysWithValues: entity.attributes.enumerated().map { ($1.name, $0) })
        let bindings = zip(entity.attributes, own.attributes).compactMap {
            kept, own -> AttributeBinding? in
            guard own.isDeclared, let schema = own.schema else { return nil }
            return AttributeBinding(
                name: schema.name, field: own.field, type: schema.type,
                defaultValue: schema.defaultValue ?? .null, isIndexed: kept.hasIndex(for: schema),
                hasInverse: schema.type == .reference && kept.isReference,
                target: schema.reference?.target)
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

extension CatalogEntity {
    /// The entity with the attributes that a program declares, and no others.
    fileprivate func declared(by schema: EntitySchema) -> CatalogEntity {
        let pairs = schema.attributes.map { ($0.fieldName, $0) }
        let declared = Dictionary(pairs) { first, _ in first }
        var entity = self
        entity.isDeclared = true
        for position in attributes.indices {
            let own = declared[attributes[position].name]
            if let own { entity.attributes[position].schema = own }
            entity.attributes[position].isDeclared = own != nil
        }
        return entity
    }

    /// What decides which records can be read.
    var readingPlan: [String] {
        attributes.filter(\.isDeclared).map { attribute in
            let schema = attribute.schema
            return "\(attribute.name) \(attribute.isMandatory) "
                + "\(schema.map { String(describing: $0.type) } ?? "") "
                + String(describing: schema?.allowedValues)
        }
    }
}

extension CatalogAttribute {
    /// Whether the inverse index has its references.
    var isReference: Bool { isDeclared && schema?.reference != nil }

    /// Whether an index has the values of every record as a program's own declaration reads them.
    fileprivate func hasIndex(for own: AttributeSchema) -> Bool {
        guard isDeclared, isBuilding != true, let schema, schema.isIndexed else { return false }
        return schema.type == own.type && schema.defaultValue == own.defaultValue
    }
}

/// A catalog with its tables, as the transactions of a program use it.
package final class CatalogSnapshot: Sendable {
    package let catalog: Catalog
    /// What the program declares, by the names of entities; nothing if it has no Swift types.
    package let declared: [String: EntitySchema]
    package let tables: [EntityTable]
    /// Whether the marks of some rows may be those of another schema.
    package let isUnderExamination: Bool
    private let positionsByName: [String: Int]

    package init(_ catalog: Catalog, declared: [String: EntitySchema] = [:]) {
        self.catalog = catalog
        self.declared = declared
        tables = catalog.entities.map { EntityTable($0, declaredBy: declared[$0.name]) }
        isUnderExamination = tables.contains(where: \.isUnderExamination)
        positionsByName = Dictionary(
            uniqueKeysWithValues: catalog.entities.enumerated().map { ($1.name, $0) })
    }

    /// A snapshot of a catalog that is another one's but for an entity, which may be new, and entities
    /// after its last one. What did not change is not looked at.
    package init(_ catalog: Catalog, after old: CatalogSnapshot, changedAt index: Int) {
        self.catalog = catalog
        let declared = old.declared
        self.declared = declared
        var tables = old.tables
        var positions = old.positionsByName
        if tables.indices.contains(index) {
            let entity = catalog.entities[index]
            tables[index] = EntityTable(entity, declaredBy: declared[entity.name])
        }
        for position in tables.count..<max(tables.count, catalog.entities.count) {
            let entity = catalog.entities[position]
            tables.append(EntityTable(entity, declaredBy: declared[entity.name]))
            positions[entity.name] = position
        }
        self.tables = tables
        isUnderExamination = tables.contains(where: \.isUnderExamination)
        positionsByName = positions
    }

    /// A snapshot of a catalog that has the same entities as another one's.
    package init(_ catalog: Catalog, withEntitiesOf old: CatalogSnapshot) {
        self.catalog = catalog
        declared = old.declared
        tables = old.tables
        isUnderExamination = old.isUnderExamination
        positionsByName = old.positionsByName
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
