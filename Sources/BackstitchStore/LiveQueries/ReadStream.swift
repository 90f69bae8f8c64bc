public import BackstitchCore

/// The results of a read: the present one, and again when what it read can have changed.
///
/// ```swift
/// for try await (open, urgent) in store.observe({ transaction in
///     (try transaction.count(Task.open), try transaction.fetch(Task.urgent))
/// }) { … }
/// ```
///
/// The closure may read anything from its transaction: records of several entities, counts, aggregates,
/// views. It must depend on nothing else. What it reads is noted while it runs, and it runs again only
/// after a commit, of any process,
/// - of a record that it was given or looked for, or that fulfils the conditions of one of its queries
///   since;
/// - that changed an entity of which it read all records, or a view that it read;
/// - of any kind, if it read the log.
///
/// Each result shows one moment; results come in commit order. A slow reader skips outdated results, and
/// always gets the newest. The sequence ends when the store is closed or the task cancelled, and throws
/// what the read throws.
///
/// What is noted is bounded: some 16 bytes for each record up to 65,536 of an entity, and 64 conditions;
/// beyond, each change of the entity runs the read again. A commit costs its writer the same however many
/// observe.
public struct ReadStream<Value: Sendable>: AsyncSequence, Sendable {
    let store: Store
    let read: @Sendable (borrowing ReadTransaction) throws -> Value
    /// Whether a result need not be delivered after another; nil if each is.
    let isSame: (@Sendable (Value, Value) -> Bool)?

    /// Starts observing.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    /// Reads the results.
    public struct Iterator: AsyncIteratorProtocol {
        private let stream: ReadStream
        private let observation: Observation
        private var last: Value?

        init(stream: ReadStream) {
            self.stream = stream
            observation = Observation(stream.store)
        }

        /// The result now, then the next one; nil when the store was closed or the task cancelled. The
        /// read runs on a thread apart.
        public mutating func next() async throws -> Value? {
            while await observation.isDue() {
                let (observation, read) = (observation, stream.read)
                let value: Value
                do {
                    value = try await ReadExecutor.run {
                        try observation.read(interruption: $0, read)
                    }
                } catch  where Task.isCancelled {
                    return nil
                }
                guard let isSame = stream.isSame else { return value }
                if let last, isSame(last, value) { continue }
                last = value
                return value
            }
            return nil
        }
    }
}

extension Store {
    /// Observes a read: its result now, and again when what it read can have changed.
    public func observe<Value: Sendable>(
        _ read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
    ) -> ReadStream<Value> {
        ReadStream(store: self, read: read, isSame: nil)
    }

    /// Observes a read, and leaves out a result that equals the one before.
    public func observe<Value: Sendable & Equatable>(
        _ read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
    ) -> ReadStream<Value> {
        ReadStream(store: self, read: read) { $0 == $1 }
    }

    /// Observes one record: as it is now, and again when it changed; nil while there is none.
    public func observe<Model: Entity>(_ id: EntityID<Model>) -> ReadStream<Model?> {
        ReadStream(store: self, read: { try $0.find(id) }, isSame: nil)
    }
}
