public import BackstitchCore
import Foundation
import LMDB

extension Store {
    /// Opens the store in a folder, or makes one there.
    ///
    /// The schema is checked as a whole, and against what is stored. Opening does not read the log:
    /// its time does not grow with the number of records. Where the set of indexes changed, the
    /// tables are made anew first, which takes some ten microseconds an operation.
    ///
    /// - Parameter directory: The path of the store's folder. Its parent must exist.
    /// - Throws: `invalidSchema` with all violations; `notAStore`, `newerFormat`, `damaged`,
    ///   `inaccessible`, `openOtherwise`, `full` or `io`.
    public convenience init(
        at directory: String, schema: Schema, configuration: StoreConfiguration = .init()
    ) throws {
        try Self.check(schema, configuration)
        try self.init(schema: schema, configuration: configuration) {
            try Environment.open(
                at: directory,
                options: Self.options(configuration, durability: configuration.durability))
        }
    }

    /// Makes a store that keeps nothing on disk, with the same interface and the same checks.
    ///
    /// - Throws: `invalidSchema` with all violations; `io` where the system lends no memory.
    public static func inMemory(
        schema: Schema, configuration: StoreConfiguration = .init()
    ) throws -> Store {
        try check(schema, configuration)
        return try Store(schema: schema, configuration: configuration) {
            try Environment.temporary(options: options(configuration, durability: .relaxed))
        }
    }

    private convenience init(
        schema: Schema, configuration: StoreConfiguration, open: () throws -> Environment
    ) throws {
        do {
            let environment = try open()
            do {
                let databases = try Databases(environment)
                let shared = try SharedState.of(environment, databases, schema: schema) {
                    try Self.adopt(schema, in: environment, databases, configuration)
                }
                let catalog = shared.catalog.snapshot
                self.init(
                    environment: environment, databases: databases, configuration: configuration,
                    shared: shared, types: TypeTable(schema: schema, catalog: catalog))
            } catch {
                environment.close()
                throw error
            }
        } catch {
            throw StoreError.wrap(error)
        }
    }

    private static func check(_ schema: Schema, _ configuration: StoreConfiguration) throws {
        var violations = schema.violations
        let bytesMax = StoreConfiguration.authorBytesMax
        if configuration.author.utf8.count > bytesMax {
            violations.append("The author has more than \(bytesMax) bytes: shorten it.")
        }
        if let violation = configuration.retention.violation { violations.append(violation) }
        try refuse(violations)
    }

    private static func refuse(_ violations: [String]) throws {
        guard !violations.isEmpty else { return }
        throw StoreError(
            .invalidSchema,
            "The store can't be opened with this schema:\n"
                + violations.map { "- " + $0 }.joined(separator: "\n"))
    }

    static func options(
        _ configuration: StoreConfiguration, durability: Durability
    ) -> EnvironmentOptions {
        var options = EnvironmentOptions(databases: Databases.names)
        options.addsDatabases = false
        options.durability = durability == .full ? .full : .relaxed
        options.usesRedoFile = true
        options.mapBytesMax = max(configuration.bytesMax, 1 << 20)
        options.mapBytes = min(options.mapBytes, options.mapBytesMax)
        options.allowsNetworkFileSystem = configuration.allowsNetworkFileSystem
        return options
    }

    /// Takes over a schema: numbers what is new and makes the tables anew where indexes changed.
    private static func adopt(
        _ schema: Schema, in environment: Environment, _ databases: Databases,
        _ configuration: StoreConfiguration
    ) throws -> Catalog {
        let stored = try environment.read { try storedCatalog($0.access, databases) }
        var catalog = stored ?? Catalog(storeID: LiveValues.nextID())
        let planBefore = catalog.indexPlan
        let violations = try environment.read { transaction in
            let reader = TableReader(
                access: transaction.access, databases: databases,
                catalog: CatalogSnapshot(catalog))
            if stored == nil, try reader.head > 0 {
                throw StoreError(
                    .damaged,
                    "The store at \(environment.directory) has lost its catalog. Restore it from a "
                        + "backup.")
            }
            return try catalog.adopt(
                schema, isEmpty: { try reader.isEmpty($0) },
                lacks: { try reader.hasReadableRow(of: $0, without: $1) })
        }
        try refuse(violations)
        guard catalog != stored else { return catalog }
        let changed = catalog
        return try environment.writer.submitAndWait {
            try environment.write { transaction in
                let context = try WriteContext(
                    access: transaction.access, databases: databases,
                    configuration: configuration, catalog: CatalogSnapshot(changed))
                try context.setMeta(MetaName.catalog, try CatalogCoding.encode(changed))
                if stored != nil, changed.indexPlan != planBefore { try context.rebuildTables() }
                return changed
            }
        }
    }

    static func storedCatalog(_ access: Access, _ databases: Databases) throws -> Catalog? {
        let bytes = try Array(MetaName.catalog.utf8).withUnsafeBytes {
            try access.get($0, in: databases.meta).map { Array($0) }
        }
        return try bytes.map { try CatalogCoding.decode($0) }
    }
}

extension TableReader {
    /// Whether a record that its Swift type could read lacks an attribute.
    func hasReadableRow(of entity: EntityNumber, without field: FieldID) throws -> Bool {
        var isFound = false
        try visitStoredRows(of: entity) { _, row in
            isFound = row.isReadable && row.fields?.position(of: field) == nil
            return !isFound
        }
        return isFound
    }

    /// Whether an entity has no rows, tombstones aside.
    func isEmpty(_ entity: EntityNumber) throws -> Bool {
        var isEmpty = true
        try visitStoredRows(of: entity) { _, row in
            isEmpty = row.isDeleted
            return isEmpty
        }
        return isEmpty
    }
}
