public import BackstitchCore

/// The results of a query: as they are now, and again whenever they change.
///
/// Results are of one moment each, in commit order. A reader that is slow skips results that were
/// overtaken; it always gets the last one. The sequence ends when the store is closed, and throws
/// what fetching throws.
public struct QueryStream<Model: Entity>: AsyncSequence, Sendable {
    /// The records that the query asks for.
    public typealias Element = [Model]

    let store: Store
    let query: Query<Model>

    /// Starts observing.
    public func makeAsyncIterator() -> Iterator {
        Iterator(store: store, query: query, changes: store.changes().makeAsyncIterator())
    }

    /// Reads the results of a query.
    public struct Iterator: AsyncIteratorProtocol {
        let store: Store
        let query: Query<Model>
        var changes: ChangeStream.Iterator
        private var versions: [UInt64]?

        init(store: Store, query: Query<Model>, changes: ChangeStream.Iterator) {
            self.store = store
            self.query = query
            self.changes = changes
        }

        /// The results now, then the next that differ; nil when the store was closed.
        public mutating func next() async throws -> [Model]? {
            guard let known = versions else { return try fetch(unless: nil) }
            while let change = await changes.next() {
                guard change.records[Model.entityName] != nil || !change.isComplete else {
                    continue
                }
                if let results = try fetch(unless: known) { return results }
            }
            return nil
        }

        /// Fetches from one snapshot; nil where the same records have the same versions as before.
        private mutating func fetch(unless known: [UInt64]?) throws -> [Model]? {
            let query = query
            let types = store.types
            let (found, results) = try store.read { transaction -> ([UInt64], [Model]?) in
                let binding = try types.binding(of: Model.self)
                let found = try transaction.reader.versions(query, binding)
                guard found != known else { return (found, nil) }
                return (found, try transaction.fetch(query))
            }
            versions = found
            return results
        }
    }
}

extension Store {
    /// Observes a query: its results now, and again whenever they change.
    public func observe<Model: Entity>(_ query: Query<Model>) -> QueryStream<Model> {
        QueryStream(store: self, query: query)
    }

    /// Observes the records that refer to one record.
    public func observe<Model: Entity>(_ relationship: ToMany<Model>) -> QueryStream<Model> {
        observe(relationship.query)
    }
}
