package import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import Threading

/// The entities and attributes of a store, without its records. A tool without the Swift types can
/// make a new store from it.
///
/// Its JSON is stable: `{"entities":[{"name":"Note","number":1,…}]}`, as a store keeps it itself.
package struct StoredSchema: Hashable, Sendable, Codable {
    /// The entities in order of their numbers, those included that only the service told of.
    package let entities: [CatalogEntity]
}

extension StoredSchema {
    /// Those of a store at this moment.
    package init(of store: Store) { self.init(entities: store.catalog.entities) }

    /// Makes an empty store with these entities.
    ///
    /// The new store has an identity of its own and no records. A program opens it with its Swift types
    /// like any other store.
    ///
    /// - Parameter directory: A path where nothing exists, or an empty folder. Its parent must
    ///   exist.
    /// - Throws: `invalidTarget` if there is something already; `invalidSchema` if the schema
    ///   contradicts itself; `inaccessible`, `full` or `io`.
    package func makeStore(
        at directory: String, configuration: StoreConfiguration = .init()
    ) throws {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        guard names.isEmpty else {
            throw StoreError(
                .invalidTarget,
                "There is something at '\(directory)' already. Give the path of a new folder.")
        }
        guard var catalog = Catalog(storeID: LiveValues.nextID(), entities: entities) else {
            throw StoreError(
                .invalidSchema,
                "The schema contradicts itself: numbers or names are missing, or there twice. Export "
                    + "it again.")
        }
        for entity in catalog.entities { catalog.endWork(of: entity.number) }
        let made = catalog
        try StoreError.wrapping {
            let environment = try Environment.open(
                at: directory, options: EnvironmentOptions(of: configuration, durability: .full))
            defer { environment.close() }
            let databases = try Databases(environment)
            try environment.writer.submitAndWait {
                try environment.write { transaction in
                    let log = try LogWriter(
                        access: transaction.access, databases: databases,
                        settings: LogWriter.Settings(configuration),
                        catalog: CatalogSnapshot(made))
                    try log.setCatalog(made)
                }
            }
        }
    }
}
