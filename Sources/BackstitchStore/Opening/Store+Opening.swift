public import BackstitchCore
import BackstitchLog
public import Foundation
package import LMDB

extension Store {
    /// Opens the store in a folder, or makes one there.
    ///
    /// The schema is checked as a whole, and against what is stored. Opening does not read the log:
    /// its time does not grow with the number of records. New indexes are built in the background
    /// afterwards, see ``prepareIndexes(progress:)``. Attributes that became unique, references and
    /// converted attributes are worked on first, some ten microseconds a record. A store of an older format
    /// is brought to the present one, in a new file; the monitor is told how far (`store.migrating`). Then
    /// ``StoreConfiguration/dataMigrations`` are made that the store lacks: open it where that may be waited for.
    ///
    /// - Parameter directory: The store's folder. Its parent must exist.
    /// - Throws: `invalidSchema` with all violations; `migrationFailed`; `notAStore`, `newerFormat`, `damaged`,
    ///   `inaccessible`, `openOtherwise`, `busy` (if it is to be migrated), `full` or `io`.
    public convenience init(
        at directory: URL, schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws {
        try self.init(
            at: directory.localPath(), schema: schema, configuration: configuration)
    }

    package convenience init(
        at directory: String, schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws {
        try SchemaAdopter(schema, configuration).check()
        try StoreFolder(directory).refuseOtherFiles()
        try self.init(schema: schema, configuration: configuration) {
            try StoreFiles(directory, EnvironmentOptions(of: configuration), configuration).open()
        }
    }

    /// Makes a store that keeps nothing on disk, with the same interface and the same checks.
    ///
    /// - Throws: `invalidSchema` with all violations; `io` if the system lends no memory.
    public static func inMemory(
        schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws -> Store {
        try SchemaAdopter(schema, configuration).check()
        return try Store(schema: schema, configuration: configuration) {
            try Environment.temporary(
                options: EnvironmentOptions(of: configuration, durability: .relaxed))
        }
    }

    private convenience init(
        schema: StoreSchema, configuration: StoreConfiguration, open: () throws -> Environment
    ) throws {
        do {
            let environment = try open()
            do {
                let databases = try Databases(environment)
                let shared = try SharedState.of(environment, databases, schema: schema) {
                    try SchemaAdopter(schema, configuration).adopt(in: environment, databases)
                }
                let catalog = shared.catalog.snapshot
                self.init(
                    environment: environment, databases: databases, configuration: configuration,
                    shared: shared, types: TypeTable(schema, catalog, environment, databases))
                let projections = ProjectionFollower(store: self)
                try projections.adopt()
                try DataMigrationRun(self).runPending()
                BackgroundSchemaWork(store: self).start()
                projections.start()
            } catch {
                environment.close()
                throw error
            }
        } catch {
            throw StoreError.wrap(error)
        }
    }
}

extension EnvironmentOptions {
    /// How the files of a store are opened.
    ///
    /// - Parameter durability: Nil takes the one of the configuration.
    package init(
        of configuration: StoreConfiguration, durability: StoreConfiguration.Durability? = nil
    ) {
        self = .store
        addsDatabases = false
        self.durability = (durability ?? configuration.durability) == .full ? .full : .relaxed
        journal = .standard
        mapBytesMax = max(configuration.bytesMax, 1 << 20)
        mapBytes = min(mapBytes, mapBytesMax)
        allowsNetworkFileSystem = configuration.allowsNetworkFileSystem
    }
}

extension Catalog {
    /// The catalog of a store's files; nil if they have none.
    static func stored(_ access: Access, _ databases: Databases) throws -> Catalog? {
        let bytes = try unsafe Array(MetaName.catalog.utf8).withUnsafeBytes {
            try unsafe access.get($0, in: databases.meta).map { unsafe Array($0) }
        }
        return try bytes.map { try CatalogCoding.decode($0) }
    }
}
