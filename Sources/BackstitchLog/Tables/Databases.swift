package import LMDB

/// The named databases of a store's environment.
package struct Databases: Sendable {
    /// Operations by sequence (8 bytes, big-endian).
    package let log: Database
    /// Everything that follows from the log: rows, indexes, journal. See ``TableKey``.
    package let tables: Database
    /// What does not follow from the log: the catalog, zone tokens, if pushing stands. And the
    /// views of projections, which follow from the log and the program's code.
    package let meta: Database

    package static let names = ["log", "tables", "meta"]
    /// Their places in ``names``.
    package static let logIndex = 0
    package static let tablesIndex = 1
    package static let metaIndex = 2

    package init(_ environment: Environment) throws(LMDBError) {
        log = try environment.database("log")
        tables = try environment.database("tables")
        meta = try environment.database("meta")
    }
}
