import BackstitchCore
import BackstitchLog
import LMDB
import Threading

extension Store {
    /// Takes over a schema: numbers what is new, and does to the tables what can't wait.
    static func adopt(
        _ schema: Schema, in environment: Environment, _ databases: Databases,
        _ configuration: StoreConfiguration
    ) throws -> Catalog {
        let stored = try environment.read { try storedCatalog($0.access, databases) }
        let catalog = stored ?? Catalog(storeID: LiveValues.nextID())
        let adoption = try environment.read { transaction in
            let reader = TableReader(
                access: transaction.access, databases: databases,
                catalog: CatalogSnapshot(catalog))
            if stored == nil, try reader.head > 0 {
                throw StoreError(
                    .damaged,
                    "The store at \(environment.directory) has lost its catalog. Restore it from a "
                        + "backup.")
            }
            return try SchemaAdoption(schema, on: catalog, records: reader)
        }
        try refuse(adoption.violations)
        guard adoption.catalog != stored else { return adoption.catalog }
        return try environment.writer.submitAndWait {
            try environment.write { transaction in
                let log = try LogWriter(
                    access: transaction.access, databases: databases,
                    settings: LogWriter.Settings(configuration),
                    catalog: CatalogSnapshot(adoption.catalog))
                try log.setMeta(MetaName.catalog, try CatalogCoding.encode(adoption.catalog))
                try log.deleteMeta(MetaName.schemaWork)
                try SchemaChange(log).carryOut(adoption)
                // Another schema may have changed what the service refused.
                try log.releaseParked { _, reason in reason.code == .invalidRequest }
                try ProjectionWriter(log).reset(
                    afterAdopting: adoption.catalog, configuration.projections)
                try log.noteOutboxCounts()
                return adoption.catalog
            }
        }
    }
}
