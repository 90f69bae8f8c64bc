import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// Takes over the schema that a store is opened with.
struct SchemaAdopter {
    private let schema: StoreSchema
    private let configuration: StoreConfiguration

    init(_ schema: StoreSchema, _ configuration: StoreConfiguration) {
        self.schema = schema
        self.configuration = configuration
    }

    /// Refuses a schema and a configuration that no store can be opened with.
    func check() throws {
        var violations = schema.violations
        let bytesMax = StoreConfiguration.authorBytesMax
        if configuration.author.utf8.count > bytesMax {
            violations.append("The author has more than \(bytesMax) bytes: shorten it.")
        }
        if let violation = configuration.retention.violation { violations.append(violation) }
        violations += RegisteredProjections.violations(configuration.projections, schema)
        violations += DataMigration.violations(configuration.dataMigrations, schema)
        try StoreError.refuseSchema(violations)
    }

    /// Notes in the store whether it may be synchronised, as the configuration says.
    ///
    /// - Throws: `invalidSchema` if it was synchronised and may not be.
    func noteSync(
        in environment: Environment, _ databases: Databases, _ catalog: CatalogSnapshot
    ) throws {
        let isNoted = try environment.read { transaction in
            let reader = TableReader(
                access: transaction.access, databases: databases, catalog: catalog)
            return try LogHorizon(reader).maySync == configuration.syncs
        }
        guard !isNoted else { return }
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                let log = try LogWriter(
                    access: transaction.access, databases: databases,
                    settings: LogWriter.Settings(configuration), catalog: catalog)
                try log.marks.setMaySync(configuration.syncs)
            }
        }
    }

    /// Numbers what is new, and does to the tables what can't wait.
    func adopt(in environment: Environment, _ databases: Databases) throws -> Catalog {
        let directory = environment.directory
        let (stored, planned) = try environment.read { transaction in
            let stored = try Catalog.stored(transaction.access, databases)
            return try (stored, examined(stored, transaction.access, databases, directory))
        }
        guard planned.catalog != stored else { return planned.catalog }
        return try environment.writer.submitAndWait {
            try environment.write { transaction in
                // Another process may have opened the store meanwhile, with a schema of its own.
                let now = try Catalog.stored(transaction.access, databases)
                let adoption =
                    try now == stored
                    ? planned : examined(now, transaction.access, databases, directory)
                let log = try LogWriter(
                    access: transaction.access, databases: databases,
                    settings: LogWriter.Settings(configuration),
                    catalog: CatalogSnapshot(adoption.catalog))
                try log.setCatalog(adoption.catalog)
                try log.deleteMeta(MetaName.schemaWork)
                try SchemaChange(log).carryOut(adoption)
                // Another schema may have changed what the service refused.
                try log.marks.releaseParked { _, reason in reason.code == .invalidRequest }
                try ProjectionWriter(log).reset(
                    afterAdopting: adoption.catalog, configuration.projections)
                try log.noteOutboxCounts()
                return adoption.catalog
            }
        }
    }

    /// What follows from the schema for a store as a transaction sees it.
    private func examined(
        _ stored: Catalog?, _ access: Access, _ databases: Databases, _ directory: String
    ) throws -> SchemaAdoption {
        let catalog = stored ?? Catalog(storeID: LiveValues.nextID())
        let reader = TableReader(
            access: access, databases: databases, catalog: CatalogSnapshot(catalog))
        if stored == nil, try reader.log.head > 0 {
            throw StoreError(
                .damaged,
                "The store at \(directory) has lost its catalog. Restore it from a backup.")
        }
        let adoption = try SchemaAdoption(schema, on: catalog, records: RecordScan(reader))
        try StoreError.refuseSchema(adoption.violations)
        return adoption
    }
}

extension StoreError {
    /// Throws `invalidSchema` if anything is wrong with a schema.
    static func refuseSchema(_ violations: [String]) throws {
        guard !violations.isEmpty else { return }
        throw StoreError(
            .invalidSchema,
            "The store can't be opened with this schema:\n"
                + violations.map { "- " + $0 }.joined(separator: "\n"))
    }
}
