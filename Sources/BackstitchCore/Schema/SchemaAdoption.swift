/// What follows from taking over a schema: the new catalog, and what is to be done to the tables.
///
/// What the schema declares joins what others did, so that no version of a program takes from another what that one
/// declares. A greater version than the store has seen replaces what was declared; a smaller one only adds what no
/// schema ever declared.
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
    /// Whether the schema replaces what was declared.
    private let isNewer: Bool
    /// Whether one of a greater version was taken over before.
    private let isOlder: Bool

    /// Works out what follows.
    ///
    /// - Parameter schema: One that was validated before.
    package init(
        _ schema: StoreSchema, on catalog: Catalog, records: some StoredRecords
    ) throws {
        self.catalog = catalog
        before = catalog
        isNewer = schema.version > catalog.schemaVersion ?? 0
        isOlder = schema.version < catalog.schemaVersion ?? 0
        if isNewer {
            self.catalog.schemaVersion = schema.version
            self.catalog.undeclareAll()
        }
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
        // Records of a type that was never declared came from newer versions elsewhere: they
        // have what the type needs, and those that don't are kept unread.
        let wasDeclared = catalog.entities[index].attributes.contains { $0.schema != nil }
        // What a greater version came without stays away.
        if !isOlder || !wasDeclared { catalog.entities[index].isDeclared = true }
        // Looked at once, and not for a type that is as it was: the records may be many, or damaged.
        var hasRecords: Bool? = wasDeclared ? nil : false
        for declared in entity.attributes {
            if let violation = renamingViolation(declared, entity, at: index) {
                violations.append(violation)
                continue
            }
            guard let position = catalog.intern(attribute: declared.fieldName, inEntityAt: index)
            else {
                violations.append(
                    "\(entity.name) has more than \(Catalog.numberMax) attributes.")
                continue
            }
            let known = known(index, position)
            if isOlder, let newer = known?.schema {
                if let violation = typeViolation(declared, newer, entity, schema.version) {
                    violations.append(violation)
                }
                continue
            }
            let others = isNewer || known?.isDeclared != true ? nil : known?.schema
            let attribute = others.map { declared.joined(with: $0) } ?? declared
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

    /// What is wrong with an attribute if values of it would be of no use to the newer schema that the store has.
    private func typeViolation(
        _ attribute: AttributeSchema, _ newer: AttributeSchema, _ entity: EntitySchema,
        _ version: Int
    ) -> String? {
        guard !attribute.type.widens(to: newer.type) else { return nil }
        return "\(entity.name).\(attribute.name) is \(newer.type) since version "
            + "\(catalog.schemaVersion ?? 0) of the schema, and version \(version) has it as "
            + "\(attribute.type): open the store with the newer version of the program."
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
            let isUrgent = new != nil && attribute.schema?.isUnique == true
            // One that is being built does not wait any longer if it became unique.
            if old != new || isUrgent && attribute.isBuilding == true {
                if old != nil, old != new { staleIndexes.append(place) }
                let builds = new != nil && !isUrgent
                catalog.entities[index].attributes[position].isBuilding = builds ? true : nil
                if isUrgent { urgentIndexes.append(place) }
            }
            if known(index, position)?.isReference != attribute.isReference {
                staleInverses.insert(entity.number)
            }
        }
    }
}

// MARK: Indexes of several attributes

extension SchemaAdoption {
    /// Numbers the indexes that an entity declares, keeps those of other versions, and compares them with those that
    /// it had.
    private mutating func adoptIndexes(of entity: CatalogEntity, _ schema: StoreSchema) {
        let at = Int(entity.number.rawValue) - 1
        let old = before.entities.indices.contains(at) ? before.entities[at] : nil
        let known = old?.indexes ?? []
        var wanted: [[CatalogIndex.Part]] = []
        let mayAdd = !isOlder || old?.attributes.contains { $0.schema != nil } != true
        if mayAdd, entity.isDeclared, let declared = schema.entity(named: entity.name) {
            wanted = declared.indexes(in: entity)
        }
        if !isNewer {
            let declared = wanted
            wanted += known.map(\.parts).filter { !declared.contains($0) }
        }
        var indexes: [CatalogIndex] = []
        for parts in wanted {
            let isFolded = parts.contains { $0.isFolded == true }
            let folding = isFolded ? TextFolding.version : nil
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

extension EntitySchema {
    /// The attributes of the indexes, of those whose attributes the catalog has as declared.
    fileprivate func indexes(in entity: CatalogEntity) -> [[CatalogIndex.Part]] {
        indexes.compactMap { index in
            let parts = index.parts.compactMap { part -> CatalogIndex.Part? in
                let field = attributes.first { $0.name == part.attribute }?.fieldName
                guard let known = field.flatMap({ entity.attribute(named: $0) }), known.isDeclared
                else { return nil }
                return CatalogIndex.Part(field: known.field, isFolded: part.isFolded ? true : nil)
            }
            return parts.count == index.parts.count ? parts : nil
        }
    }
}

extension CatalogAttribute {
    /// What decides which index entries there are; nil if there are none.
    fileprivate var indexPlan: String? {
        guard isDeclared, let schema, schema.isIndexed else { return nil }
        return "\(schema.type) \(String(describing: schema.defaultValue))"
    }
}

extension AttributeSchema {
    /// The attribute with what another version of the program demands of it: an index, unique values, that a target
    /// may not go, and that values stay on the device.
    fileprivate func joined(with other: AttributeSchema) -> AttributeSchema {
        let denies = other.reference?.onDelete == .deny
        return AttributeSchema(
            name: name, type: type, isOptional: isOptional, hasDefault: hasDefault,
            defaultValue: defaultValue, isIndexed: isIndexed || other.isIndexed && type.isOrdered,
            isLossless: isLossless,
            reference: reference.map {
                ReferenceSchema(target: $0.target, onDelete: denies ? .deny : $0.onDelete)
            },
            fieldName: fieldName, isUnique: isUnique || other.isUnique && type.isOrdered,
            isUploaded: isUploaded && other.isUploaded,
            isDownloaded: isDownloaded && other.isDownloaded, allowedValues: allowedValues,
            isExternal: isExternal, isAfterwards: isAfterwards)
    }

    /// Whether every stored value of this attribute is one of another as it stands.
    fileprivate func fits(_ other: AttributeSchema) -> Bool {
        guard type.widens(to: other.type) else { return false }
        guard let allowed = other.allowedValues else { return true }
        return allowedValues.map { Set($0).isSubset(of: allowed) } ?? false
    }
}
