import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import Threading

/// What all stores on the same files of this process have in common: the catalog as of the last
/// commit, and who waits for changes.
final class SharedState: Sendable {
    let catalog: CatalogState
    let feed: ChangeFeed
    /// Who downloads the contents of files that are not here.
    let assetProvider = Locked(AssetProviderSlot())
    /// The entities of the schema that opened the files first, by name; nil until one did.
    private let entities: Locked<[String: EntitySchema]?>
    /// Held so that the identity of the files is not given again before this is gone.
    private let environment: Environment

    private struct Entry {
        weak var state: SharedState?
    }

    private static let states = Locked<[ObjectIdentifier: Entry]>([:])
    /// Held while a schema is taken over, so that two stores don't do it at once.
    private static let opening = NSLock()

    private init(
        _ environment: Environment, _ databases: Databases, _ catalog: Catalog,
        _ schema: StoreSchema?
    ) {
        self.environment = environment
        let entities = schema.map { Self.named($0) }
        let state = CatalogState(CatalogSnapshot(catalog, declared: entities ?? [:]))
        self.catalog = state
        feed = ChangeFeed(databases, state)
        self.entities = Locked(entities)
    }

    private static func named(_ schema: StoreSchema) -> [String: EntitySchema] {
        Dictionary(schema.entities.map { ($0.name, $0) }) { first, _ in first }
    }

    /// The state of an open file; made by taking over the schema if the file was not open.
    ///
    /// - Parameter schema: Nil if the store is opened without its Swift types.
    /// - Throws: `openOtherwise` if it is open with another schema, or what `adopt` throws.
    static func of(
        _ environment: Environment, _ databases: Databases, schema: StoreSchema?,
        adopt: () throws -> Catalog
    ) throws -> SharedState {
        opening.lock()
        defer { opening.unlock() }
        if let state = states.withLock({ $0[environment.identity]?.state }) {
            guard let schema else { return state }
            guard let known = state.entities.withLock({ $0 }) else {
                let entities = named(schema)
                state.catalog.set(CatalogSnapshot(try adopt(), declared: entities))
                state.entities.withLock { $0 = entities }
                return state
            }
            guard known == named(schema) else {
                throw StoreError(
                    .openOtherwise,
                    "The store at \(environment.directory) is open in this process with another "
                        + "schema. Use the same one, or close it first.")
            }
            return state
        }
        let state = SharedState(environment, databases, try adopt(), schema)
        states.withLock { states in
            states = states.filter { $0.value.state != nil }
            states[environment.identity] = Entry(state: state)
        }
        return state
    }
}
