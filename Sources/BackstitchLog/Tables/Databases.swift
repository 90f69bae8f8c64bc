package import BackstitchCore
package import LMDB

/// The named databases of a store's environment.
package struct Databases: Sendable {
    /// Operations by sequence (8 bytes, big-endian).
    package let log: Database
    /// Everything that follows from the log but rows, which have ``rows``: indexes, journal. See
    /// ``TableKey``.
    package let tables: Database
    /// What does not follow from the log: the catalog, zone tokens, if pushing stands. And the
    /// views of projections, which follow from the log and the program's code.
    package let meta: Database

    package static let names = ["log", "tables", "meta"]
    /// Their places in ``names``.
    package static let logIndex = 0
    package static let tablesIndex = 1
    package static let metaIndex = 2
    /// The rows of each entity, under its number: in a tree of their own, because rows that come in the
    /// order of their keys leave full pages only behind which nothing else follows.
    package static let rows = DatabaseFamily(prefix: "rows.", countMax: Catalog.numberMax)

    package init(_ environment: Environment) throws(LMDBError) {
        log = try environment.database("log")
        tables = try environment.database("tables")
        meta = try environment.database("meta")
    }

    /// The entity whose rows a database has, by the place that an inspection gives it; nil for another.
    package static func entity(ofDatabase place: Int) -> EntityNumber? {
        EntityNumber(UInt16(exactly: place - Database.memberNumberBase) ?? 0).nonzero
    }
}

extension EntityNumber {
    fileprivate var nonzero: EntityNumber? { rawValue > 0 ? self : nil }
}

extension EnvironmentOptions {
    /// How the files of any store are opened.
    package static var store: EnvironmentOptions {
        var options = EnvironmentOptions(databases: Databases.names)
        options.family = Databases.rows
        return options
    }
}

extension EnvironmentFiles {
    /// Whether the data file has the databases of a store, as far as its pages tell. Nothing is changed.
    package var holdsStore: Bool {
        let found = try? match(Databases.names)
        return found == .exact || found == .more
    }
}

extension Access {
    /// The rows of an entity; nil if the transaction has none of them, not even an empty tree.
    package func rows(of entity: EntityNumber) -> Database? { member(Int(entity.rawValue)) }

    /// The rows of an entity, to be changed.
    package func rowsForWriting(of entity: EntityNumber) throws(LMDBError) -> Database {
        if let rows = rows(of: entity) { return rows }
        try makeMembers(through: Int(entity.rawValue))
        guard let rows = rows(of: entity) else {
            preconditionFailure("A database that was made is there.")
        }
        return rows
    }

    /// The numbers of all entities that have a tree of rows.
    package var entitiesWithRows: [EntityNumber] {
        (0..<members).map { EntityNumber(UInt16($0 + 1)) }
    }

    /// All databases: the log, the rows of each entity, the other tables, meta.
    package func all(of databases: Databases) -> [Database] {
        let rows = entitiesWithRows.compactMap { self.rows(of: $0) }
        return [databases.log] + rows + [databases.tables, databases.meta]
    }

    /// Empties all tables.
    package func clearTables(_ databases: Databases) throws {
        for entity in entitiesWithRows { try clear(rowsForWriting(of: entity)) }
        try clear(databases.tables)
    }

    /// Stores the catalog, and makes the trees for the rows of its entities.
    package func putCatalog(_ catalog: Catalog, _ databases: Databases) throws {
        try makeMembers(through: catalog.entities.count)
        try putMeta(MetaName.catalog, try CatalogCoding.encode(catalog), databases)
    }
}

/// The tables by the keys that ``TableKey`` makes, wherever an entry lies.
extension Databases {
    /// The value of an entry of the tables.
    package func value(
        at key: UnsafeRawBufferPointer, _ access: Access
    ) throws -> UnsafeRawBufferPointer? {
        guard unsafe TableKey.isRow(key) else { return try unsafe access.get(key, in: tables) }
        guard let rows = unsafe access.rows(of: TableKey.entity(of: key)) else { return nil }
        return try unsafe access.get(TableKey.record(of: key), in: rows)
    }

    package func put(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ access: Access
    ) throws {
        guard unsafe TableKey.isRow(key) else {
            return try unsafe access.put(key, value, in: tables)
        }
        let rows = try unsafe access.rowsForWriting(of: TableKey.entity(of: key))
        try unsafe access.put(TableKey.record(of: key), value, in: rows)
    }

    package func delete(_ key: UnsafeRawBufferPointer, _ access: Access) throws {
        guard unsafe TableKey.isRow(key) else {
            try unsafe access.delete(key, in: tables)
            return
        }
        guard let rows = unsafe access.rows(of: TableKey.entity(of: key)) else { return }
        try unsafe access.delete(TableKey.record(of: key), in: rows)
    }
}
