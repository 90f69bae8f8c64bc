import BackstitchCore
import BackstitchLog
package import LMDB

/// Opens the files of a store with a schema, and begins what goes on in a store that is open.
struct StoreOpening {
    private let schema: StoreSchema
    private let configuration: StoreConfiguration

    init(_ schema: StoreSchema, _ configuration: StoreConfiguration) {
        self.schema = schema
        self.configuration = configuration
    }

    /// Opens the files in a folder, or makes them there.
    func files(in directory: String) throws -> OpenFiles {
        try files {
            try StoreFolder(directory).refuseOtherFiles()
            return try Environment.open(
                at: directory, options: EnvironmentOptions(of: configuration))
        }
    }

    /// Makes files of which nothing stays.
    func temporaryFiles() throws -> OpenFiles {
        try files {
            try Environment.temporary(
                options: EnvironmentOptions(of: configuration, durability: .relaxed))
        }
    }

    /// Takes over the schema in what the closure opens.
    private func files(_ open: () throws -> Environment) throws -> OpenFiles {
        let adopter = SchemaAdopter(schema, configuration)
        try adopter.check()
        return try StoreError.wrapping {
            let environment = try open()
            do {
                let databases = try Databases(environment)
                let shared = try SharedState.of(environment, databases, schema: schema) {
                    try adopter.adopt(in: environment, databases)
                }
                try adopter.noteSync(in: environment, databases, shared.catalog.snapshot)
                return OpenFiles(
                    environment: environment, databases: databases, configuration: configuration,
                    shared: shared,
                    types: TypeTable(schema, shared.catalog.snapshot, environment, databases))
            } catch {
                environment.close()
                throw error
            }
        }
    }

    /// Does to a store that is open what can't wait, and begins what goes on in the background; closes its
    /// files if that fails.
    func finish(_ store: Store) throws {
        do {
            let projections = ProjectionFollower(store: store)
            try projections.adopt()
            try DataMigrationRun(store).runPending()
            BackgroundSchemaWork(store).start()
            projections.start()
        } catch {
            store.environment.close()
            throw StoreError.wrap(error)
        }
    }
}

extension OpenFiles {
    /// Opens the files of an existing store, without a schema. A folder that is no store stays as it is.
    static func existing(
        in directory: String, _ access: StoreConfiguration.Access,
        _ configuration: StoreConfiguration, checksPages: Bool
    ) throws -> OpenFiles {
        try StoreError.wrapping {
            var options = EnvironmentOptions(of: configuration)
            options.isReadOnly = access == .readOnly
            try StoreFolder(directory).requireStore(options, checksPages: checksPages)
            options.createsIfMissing = access == .readWrite
            let environment = try Environment.open(at: directory, options: options)
            do {
                if checksPages { try environment.checkPages() }
                let databases = try Databases(environment)
                let stored = try environment.read { try Catalog.stored($0.access, databases) }
                guard let catalog = stored else {
                    throw StoreError.notAStore(directory, "holds an LMDB file of another program")
                }
                return try OpenFiles(environment, databases, configuration, catalog)
            } catch {
                environment.close()
                throw error
            }
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
