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
            /// The last results, if records were left out of them whose bytes are not on this device.
            private var incomplete: [EntityID<Model>]?

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
                let (query, known, incomplete) = (query, versions, incomplete)
                let (found, results, isIncomplete) = try observation.read {
                    transaction -> ([UInt64], [Model]?, Bool) in
                    let binding = try transaction.types.binding(of: Model.self)
                    let found = try query.versions(transaction.reader, binding)
                    guard found != known || incomplete != nil else { return (found, nil, false) }
                    // What is asked and found was noted already.
                    let unnoted = transaction.reader.unnoted
                    let results = try unnoted.fetch(query, binding)
                    let isIncomplete =
                        binding.layout.external != nil && results.count < found.count
                    if isIncomplete { transaction.reader.footprint?.noteLeftOut() }
                    return (found, results, isIncomplete)
                }
                let ids = isIncomplete ? results?.map(\.id) : nil
                defer { (versions, self.incomplete) = (found, ids) }
                // Without a change of records it counts only which of them are whole.
                if found == known, let ids, ids == incomplete { return nil }
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

extension Query {
    /// The last operations of the records of the answer, in its order.
    fileprivate func versions(_ reader: TableReader, _ binding: TypeBinding) throws -> [UInt64] {
        var versions: [UInt64] = []
        try unsafe QueryExecutor.visitKeys(reader.quickPlan(self, binding), on: reader) { key in
            let row = try unsafe reader.unnoted.row(binding.number, keyBytes: key)
            versions.append(row?.lastSequence ?? 0)
            return true
        }
        return versions
    }
}
