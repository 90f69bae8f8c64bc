public import BackstitchCore

extension Query {
    /// The results of a query: the present ones, and again whenever they change.
    ///
    /// Each result shows one moment; results come in commit order. A slow reader skips outdated
    /// results, and always gets the last one. The sequence ends when the store is closed, and throws
    /// what fetching throws.
    ///
    /// The query is run again only after a commit that can change its results: one that touched a record
    /// among them, or one that fits its conditions. What is kept to tell is bounded as for
    /// ``Store/observe(_:)-(_)``.
    public struct Stream: AsyncSequence, Sendable {
        /// The records that the query matches.
        public typealias Element = [Model]

        let store: Store
        let query: Query<Model>

        /// Starts observing.
        public func makeAsyncIterator() -> Iterator {
            Iterator(query: query, observation: Observation(store))
        }

        /// Reads the results of a query.
        public struct Iterator: AsyncIteratorProtocol {
            private let query: Query<Model>
            private let observation: Observation
            /// The last operations of the records of the last results, in their order.
            private var versions: [UInt64]?

            init(query: Query<Model>, observation: Observation) {
                self.query = query
                self.observation = observation
            }

            /// The results now, then the next that differ; nil when the store was closed.
            public mutating func next() async throws -> [Model]? {
                while await observation.isDue() {
                    if let results = try fetch() { return results }
                }
                return nil
            }

            /// Fetches from one snapshot; nil if the same records have the same versions as before.
            private mutating func fetch() throws -> [Model]? {
                let (query, known) = (query, versions)
                let (found, results) = try observation.read {
                    transaction -> ([UInt64], [Model]?) in
                    let binding = try transaction.types.binding(of: Model.self)
                    let found = try transaction.reader.versions(query, binding)
                    guard found != known else { return (found, nil) }
                    // What is asked and found was noted already.
                    let unnoted = transaction.reader.unnoted
                    return (found, try unnoted.fetch(query, binding))
                }
                versions = found
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
