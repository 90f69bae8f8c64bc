package import BackstitchCore

/// The catalog, and what a commit changes in it.
package struct CatalogChanges {
    /// The catalog as it is now.
    package private(set) var snapshot: CatalogSnapshot
    /// Whether the commit has to store it.
    package private(set) var isPending = false
    /// How often it was changed: each time costs as much as its entities.
    package private(set) var count = 0

    init(_ snapshot: CatalogSnapshot) {
        self.snapshot = snapshot
    }

    /// Takes back what was changed since a copy was made.
    mutating func takeBack(to earlier: CatalogChanges) {
        snapshot = earlier.snapshot
        isPending = earlier.isPending
    }

    // MARK: Names of the service

    /// The table of an entity by name, numbering it if the service delivered it for the first time.
    ///
    /// - Throws: ``CatalogFull`` if there is no number left.
    package mutating func table(named name: String) throws -> EntityTable {
        if let table = snapshot.table(named: name) { return table }
        return try change { catalog in
            catalog.intern(entity: name, max: Catalog.undeclaredMax)
        }
    }

    /// Numbers the types that the service delivered for the first time, at once, as far as there are
    /// numbers for them.
    package mutating func numberTables(named names: Set<String>) throws {
        let new = names.filter { name in
            snapshot.table(named: name) == nil && (1...Catalog.nameBytesMax) ~= name.utf8.count
        }.sorted()
        let (count, room) = (snapshot.tables.count, Catalog.undeclaredMax - snapshot.tables.count)
        guard !new.isEmpty, room > 0 else { return }
        _ = try change { catalog in
            catalog.add(entities: new)
            return count
        }
    }

    /// Numbers the attributes that the service delivered for the first time and no schema declares, at
    /// once, as far as there are numbers for them.
    package mutating func numberFields(
        named names: [String], of table: EntityTable
    ) throws -> EntityTable {
        guard !names.isEmpty, table.attributes.count < Catalog.undeclaredMax else { return table }
        let index = Int(table.number.rawValue) - 1
        return try change { catalog in
            catalog.add(attributes: names, toEntityAt: index)
            return index
        }
    }

    // MARK: Zones

    /// Gives a zone a slot, unless it has one.
    ///
    /// - Returns: the slot; nil if all were given.
    package mutating func addZone(
        named name: String, owner: String? = nil, in database: DatabaseScope
    ) -> UInt8? {
        if let zone = snapshot.catalog.zone(named: name, owner: owner, in: database) {
            return zone.number
        }
        var changed = snapshot.catalog
        guard let zone = changed.add(zone: name, owner: owner, in: database) else { return nil }
        take(changed)
        return zone.number
    }

    /// Notes that a zone ended, after its records did.
    package mutating func endZone(_ slot: UInt8, at sequence: UInt64) {
        var changed = snapshot.catalog
        changed.end(zone: slot, at: sequence)
        take(changed)
    }

    /// Takes over a catalog whose entities are the same.
    private mutating func take(_ changed: Catalog) {
        snapshot = CatalogSnapshot(changed, withEntitiesOf: snapshot)
        isPending = true
        count += 1
    }

    // MARK: Schema work

    /// Notes that the indexes of an entity are complete and its records examined.
    package mutating func endSchemaWork(of entity: EntityNumber) throws {
        _ = try change { catalog in
            catalog.endWork(of: entity)
            return Int(entity.rawValue) - 1
        }
    }

    /// Notes whether records of an entity could not be marked.
    package mutating func noteUnexamined(
        of entity: EntityNumber, _ hasUnexamined: Bool? = true
    ) throws {
        let index = Int(entity.rawValue) - 1
        guard snapshot.catalog.entities[index].hasUnexamined != hasUnexamined else { return }
        _ = try change { catalog in
            catalog.noteUnexamined(ofEntityAt: index, hasUnexamined)
            return index
        }
    }

    /// Notes that the records of an entity are to be examined.
    package mutating func beginExamination(of entity: EntityNumber) throws {
        let index = Int(entity.rawValue) - 1
        _ = try change { catalog in
            catalog.beginExamination(ofEntityAt: index)
            return index
        }
    }

    private mutating func change(_ change: (inout Catalog) -> Int?) throws -> EntityTable {
        var changed = snapshot.catalog
        guard let index = change(&changed) else { throw CatalogFull() }
        snapshot = CatalogSnapshot(changed, after: snapshot, changedAt: index)
        isPending = true
        count += 1
        return snapshot.tables[index]
    }
}
