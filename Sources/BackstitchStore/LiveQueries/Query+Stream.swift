public import BackstitchCore

extension Query {
    /// The results of a query: the present ones, and again whenever they change.
    ///
    /// Each result shows one moment; results come in commit order. A slow reader skips outdated
    /// results, and always gets the last one. The sequence ends when the store is closed, and throws
    /// what fetching throws.
    ///
    /// The query is run again only after a commit that can change its results: one that touched a record
    /// among them, or one that fits its conditions. A commit that does not costs some microseconds for
    /// each record of the entity that it changed. The ids of the results are kept in memory, some 100
    /// bytes each.
    public struct Stream: AsyncSequence, Sendable {
        /// The records that the query matches.
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
            var changes: ChangeSet.Stream.Iterator
            private var known: QueryResults?

            init(store: Store, query: Query<Model>, changes: ChangeSet.Stream.Iterator) {
                self.store = store
                self.query = query
                self.changes = changes
            }

            /// The results now, then the next that differ; nil when the store was closed.
            public mutating func next() async throws -> [Model]? {
                guard known != nil else { return try fetch() }
                while let change = await changes.next() {
                    guard try known?.areTouched(by: change, query, in: store) == true else {
                        continue
                    }
                    if let results = try fetch() { return results }
                }
                return nil
            }

            /// Fetches from one snapshot; nil if the same records have the same versions as before.
            private mutating func fetch() throws -> [Model]? {
                let (query, versions) = (query, known?.versions)
                let (found, results) = try store.read { transaction -> (QueryResults, [Model]?) in
                    let binding = try transaction.types.binding(of: Model.self)
                    let found = QueryResults(try transaction.reader.versions(query, binding))
                    guard found.versions != versions else { return (found, nil) }
                    return (found, try transaction.fetch(query))
                }
                known = found
                return results
            }
        }
    }
}

extension Store {
    /// Observes a query: its results now, and again whenever they change.
    public func observe<Model: Entity>(_ query: Query<Model>) -> Query<Model>.Stream {
        Query<Model>.Stream(store: self, query: query)
    }

    /// Observes the records that refer to one record.
    public func observe<Model: Entity>(_ relationship: ToMany<Model>) -> Query<Model>.Stream {
        observe(relationship.query)
    }
}
