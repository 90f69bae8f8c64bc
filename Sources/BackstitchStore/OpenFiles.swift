import BackstitchCore
import BackstitchLog
import LMDB

/// The open files of a store, and what it needs to work on them.
struct OpenFiles {
    let environment: Environment
    let databases: Databases
    let configuration: StoreConfiguration
    /// What the store has in common with others on the same files.
    let shared: SharedState
    /// The entities that Swift types declare.
    let types: TypeTable
}

extension OpenFiles {
    /// Files of a catalog, whose store knows no Swift types.
    init(
        _ environment: Environment, _ databases: Databases, _ configuration: StoreConfiguration,
        _ catalog: Catalog
    ) throws {
        self.init(
            environment: environment, databases: databases, configuration: configuration,
            shared: try SharedState.of(environment, databases, schema: nil) { catalog },
            types: TypeTable(schema: StoreSchema(), catalog: CatalogSnapshot(catalog)))
    }
}
