/// What follows from taking over a schema: the new catalog, and what is to be done to the tables.
package struct SchemaAdoption {
    /// An attribute in one store.
    package struct Place: Hashable, Sendable {
        package let entity: EntityNumber
        package let field: FieldID
    }

    /// The catalog with the schema; of no use if there are violations.
    package private(set) var catalog: Catalog
    /// What the stored records forbid, with remedies.
    package private(set) var violations: [String] = []
    /// The attributes whose values are to be converted.
    package private(set) var upcasts: [(place: Place, upcaster: StoreSchema.Upcaster)] = []
    /// The attributes that were not pushed and are from now on.
    package private(set) var unmasked: [Place] = []
    /// The attributes whose index entries are of no use any more.
    package private(set) var staleIndexes: [Place] = []
    /// The indexes of several attributes or of folded texts whose entries are of no use any more.
    package private(set) var staleCompounds: [(entity: EntityNumber, number: UInt16)] = []
    /// The attributes whose entries must be there before the store opens: unique ones are checked
    /// by them.
    package private(set) var urgentIndexes: [Place] = []
    /// The entities whose inverse indexes must be made anew before the store opens: delete rules
    /// follow them.
    package private(set) var staleInverses: Set<EntityNumber> = []

    /// The most records that a violation names.
    static let namedRecordsMax = 20

    private let before: Catalog

    /// Works out what follows.
    ///
    /// - Parameter schema: One that was validated before.
    package init(
        _ schema: StoreSchema, on catalog: Catalog, records: some StoredRecords
    ) throws {
        self.catalog = catalog
        before = catalog
        self.catalog.undeclareAll()
        for entity in schema.entities { try adopt(entity, of: schema, records) }
        for entity in self.catalog.entities { compareIndexes(of: entity) }
        for entity in self.catalog.entities { adoptIndexes(of: entity, schema) }
    }

    private func known(_ entity: Int, _ position: Int) -> CatalogAttribute? {
        guard before.entities.indices.contains(entity) else { return nil }
        let attributes = before.entities[entity].attributes
        return attributes.indices.contains(position) ? attributes[position] : nil
    }

    private mutating func adopt(
        _ entity: EntitySchema, of schema: StoreSchema, _ records: some StoredRecords
    ) throws {
        guard let index = catalog.intern(entity: entity.name) else {
            violations.append("There are more than \(Catalog.numberMax) entities in the store.")
            return
        }
        catalog.entities[index].isDeclared = true
        // Records of a type that was never declared came from newer versions elsewhere: they
        // have what the type needs, and those that don't are kept unread.
        let wasDeclared = catalog.entities[index].attributes.contains { $0.schema != nil }
        // Looked at once, and not for a type that is as it was: the records may be many, or damaged.
        var hasRecords: Bool? = wasDeclared ? nil : false
        for attribute in entity.attributes {
            if let violation = renamingViolation(attribute, entity, at: index) {
                violations.append(violation)
                continue
            }
            guard let position = catalog.intern(attribute: attribute.fieldName, inEntityAt: index)
            else {
                violations.append(
                    "\(entity.name) has more than \(Catalog.numberMax) attributes.")
                continue
            }
            let known = known(index, position)
            if known?.isDeclared != true || known?.schema != attribute {
                let isThere = try hasRecords ?? !records.isEmpty(catalog.entities[index].number)
                hasRecords = isThere
                if isThere {
                    try check(
                        attribute, schema.upcaster(of: attribute, in: entity), entity.name,
                        at: (index, position), records)
                }
            }
            if known?.schema?.isUploaded == false, attribute.isUploaded {
                let entity = catalog.entities[index]
                unmasked.append(
                    Place(entity: entity.number, field: entity.attributes[position].field))
            }
            catalog.entities[index].attributes[position].schema = attribute
            catalog.entities[index].attributes[position].isDeclared = true
        }
        if before.entities.indices.contains(index),
            before.entities[index].readingPlan != catalog.entities[index].readingPlan
        {
            catalog.entities[index].needsExamination = true
        }
    }

    /// What is wrong with an attribute whose field is new though its name was known.
    private func renamingViolation(
        _ attribute: AttributeSchema, _ entity: EntitySchema, at index: Int
    ) -> String? {
        guard before.entities.indices.contains(index) else { return nil }
        let attributes = before.entities[index].attributes
        guard !attributes.contains(where: { $0.name == attribute.fieldName }) else { return nil }
        let names = [attribute.name, attribute.fieldName]
        // A field that no declaration has, and a property that was stored under another one.
        let previous = attributes.first { known in
            known.isDeclared && known.schema.map { names.contains($0.name) } == true
        }
        guard let previous, !entity.attributes.contains(where: { $0.fieldName == previous.name })
        else { return nil }
        let name = "\(entity.name).\(attribute.name)"
        return previous.name == attribute.name
            ? "\(name) was stored under its own name: remove its originalName or "
                + "serviceName."
            : "\(name) was stored as \(previous.name), its first name: write originalName: "
                + "\"\(previous.name)\"."
    }

    // MARK: Records

    private mutating func check(
        _ attribute: AttributeSchema, _ upcaster: StoreSchema.Upcaster?, _ entity: String,
        at place: (entity: Int, position: Int), _ records: some StoredRecords
    ) throws {
        let number = catalog.entities[place.entity].number
        let field = catalog.entities[place.entity].attributes[place.position].field
        let known = known(place.entity, place.position)
        let name = "\(entity).\(attribute.name)"
        let isConverted = known?.schema.map { !$0.fits(attribute) } ?? false
        if let old = known?.schema, isConverted {
            if let upcaster {
                upcasts.append((Place(entity: number, field: field), upcaster))
            } else if old.type != attribute.type, !old.type.widens(to: attribute.type) {
                violations.append(
                    "\(name) was \(old.type) and is now \(attribute.type): keep the old type and "
                        + "give the new attribute another name, or give the schema an Upcaster.")
            } else {
                let wrong = try records.records(
                    of: number, field, forbiddenBy: attribute, limit: Self.namedRecordsMax)
                if !wrong.isEmpty {
                    violations.append(
                        "\(name) holds raw values that its enum has no case for, in "
                            + "\(Self.list(wrong)): keep the cases, or give the schema an Upcaster."
                    )
                }
            }
        }
        if attribute.isMandatory, known?.isMandatory != true,
            try records.hasRecord(of: number, without: field)
        {
            violations.append(
                "\(name) must have a value, and there are records without it: make it optional or "
                    + "give it a default.")
        }
        let wasUnique = known?.isDeclared == true && known?.schema?.isUnique == true
        if attribute.isUnique, !wasUnique, upcaster == nil || !isConverted {
            let same = try records.duplicates(
                of: number, field, as: attribute, limit: Self.namedRecordsMax)
            if !same.isEmpty {
                violations.append(
                    "\(name) is unique, and these records share a value with another: "
                        + "\(Self.list(same)). Change or delete them first.")
            }
        }
    }

    private static func list(_ keys: [RecordKey]) -> String {
        keys.map(\.description).joined(separator: ", ")
            + (keys.count < namedRecordsMax ? "" : " and maybe others")
    }

    // MARK: Indexes

    private mutating func compareIndexes(of entity: CatalogEntity) {
        let index = Int(entity.number.rawValue) - 1
        guard before.entities.indices.contains(index) else { return }
        for (position, attribute) in entity.attributes.enumerated() {
            let place = Place(entity: entity.number, field: attribute.field)
            let (old, new) = (known(index, position)?.indexPlan, attribute.indexPlan)
            if old != new {
                if old != nil { staleIndexes.append(place) }
                catalog.entities[index].attributes[position].isBuilding = nil
                if attribute.schema?.isUnique == true, new != nil {
                    urgentIndexes.append(place)
                } else if new != nil {
                    catalog.entities[index].attributes[position].isBuilding = true
                }
            }
            if known(index, position)?.isReference != attribute.isReference {
                staleInverses.insert(entity.number)
            }
        }
    }
}

// MARK: Indexes of several attributes

extension SchemaAdoption {
    /// Numbers the indexes that an entity declares, and compares them with those that it had.
    private mutating func adoptIndexes(of entity: CatalogEntity, _ schema: StoreSchema) {
        let at = Int(entity.number.rawValue) - 1
        let old = before.entities.indices.contains(at) ? before.entities[at] : nil
        let known = old?.indexes ?? []
        let declared =
            entity.isDeclared ? schema.entity(named: entity.name)?.indexes ?? [] : []
        var indexes: [CatalogIndex] = []
        for schema in declared {
            let parts = schema.parts.compactMap { part in
                entity.attributes.first { $0.isDeclared && $0.schema?.name == part.attribute }
                    .map {
                        CatalogIndex.Part(field: $0.field, isFolded: part.isFolded ? true : nil)
                    }
            }
            guard parts.count == schema.parts.count else { continue }
            let folding = schema.parts.contains(where: \.isFolded) ? TextFolding.version : nil
            let same = known.first { $0.parts == parts }
            let next = (known + indexes).map(\.number).max() ?? 0
            var index = CatalogIndex(
                number: same?.number ?? next + 1, parts: parts, folding: folding,
                isBuilding: same?.isBuilding)
            if let same, let old, old.plan(of: same) == entity.plan(of: index) {
                indexes.append(index)
                continue
            }
            // There is nothing to build for an entity that the store did not have.
            index.isBuilding = old == nil ? nil : true
            if let same { staleCompounds.append((entity.number, same.number)) }
            indexes.append(index)
        }
        for index in known where !indexes.contains(where: { $0.number == index.number }) {
            staleCompounds.append((entity.number, index.number))
        }
        indexes.sort { $0.number < $1.number }
        catalog.entities[at].indexes = indexes.isEmpty ? nil : indexes
    }
}

extension Catalog {
    fileprivate mutating func undeclareAll() {
        for index in entities.indices {
            entities[index].isDeclared = false
            for position in entities[index].attributes.indices {
                entities[index].attributes[position].isDeclared = false
            }
        }
    }
}

extension CatalogEntity {
    /// What decides which records can be read.
    fileprivate var readingPlan: [String] {
        attributes.filter(\.isDeclared).map { attribute in
            let schema = attribute.schema
            return "\(attribute.name) \(attribute.isMandatory) "
                + "\(schema.map { String(describing: $0.type) } ?? "") "
                + String(describing: schema?.allowedValues)
        }
    }
}

extension CatalogAttribute {
    /// What decides which index entries there are; nil if there are none.
    fileprivate var indexPlan: String? {
        guard isDeclared, let schema, schema.isIndexed else { return nil }
        return "\(schema.type) \(String(describing: schema.defaultValue))"
    }

    fileprivate var isReference: Bool { isDeclared && schema?.reference != nil }
}

extension AttributeSchema {
    /// Whether every stored value of this attribute is one of another as it stands.
    fileprivate func fits(_ other: AttributeSchema) -> Bool {
        guard type.widens(to: other.type) else { return false }
        guard let allowed = other.allowedValues else { return true }
        return allowedValues.map { Set($0).isSubset(of: allowed) } ?? false
    }
}
