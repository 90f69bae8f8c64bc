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
                try log.carryOut(adoption)
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

extension LogWriter {
    /// Does to records and tables what a schema asks for before it can be used.
    fileprivate func carryOut(_ adoption: SchemaAdoption) throws {
        for place in adoption.staleIndexes {
            try withProjector { try $0.clearIndex(place.entity, place.field) }
        }
        var failed: [String] = []
        for (place, upcaster) in adoption.upcasts {
            failed += try convert(place, by: upcaster)
        }
        try Store.refuse(failed)
        for place in adoption.unmasked { try markUnsynced(place) }
        let urgent = Dictionary(grouping: adoption.urgentIndexes, by: \.entity)
        for (entity, places) in urgent.sorted(by: { $0.key < $1.key }) {
            guard let table = catalog.table(entity) else { continue }
            let attributes = places.compactMap { table.attribute($0.field) }
            try visitBodies(of: table) { projector, keyBytes, fields in
                try projector.putIndexes(of: attributes, fields, keyBytes: keyBytes, in: table)
            }
        }
        for entity in adoption.staleInverses.sorted() {
            guard let table = catalog.table(entity) else { continue }
            try withProjector { try $0.clearInverses(entity) }
            try visitBodies(of: table) { projector, keyBytes, fields in
                try projector.putInverses(fields, keyBytes: keyBytes, in: table)
            }
        }
    }

    private func visitBodies(
        of table: EntityTable,
        _ visit: (inout Projector, UnsafeRawBufferPointer, PackedFields) throws -> Void
    ) throws {
        var next: RecordKey?
        repeat {
            let chunk = try reader.liveBodies(of: table.number, after: next, limit: 1_000)
            next = chunk.last?.key
            try withProjector { projector in
                for body in chunk {
                    try body.withFields { try visit(&projector, $0, $1) }
                }
            }
        } while next != nil
    }
}
