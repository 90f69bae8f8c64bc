import BackstitchCore
import BackstitchLog
import LMDB
import Threading

extension Store {
    /// The attributes whose indexes are being built, as `Entity.attribute`, and indexes of several as
    /// `Entity(first, second)`; queries do without them until they are complete.
    public var indexesBeingBuilt: [String] {
        get throws {
            try read { $0.reader.catalog.catalog.indexesBeingBuilt }
        }
    }

    /// Waits until all indexes of the schema are complete, and all records are examined.
    ///
    /// There is no need to call it: a store does this in the background, in small commits between
    /// which others write, and continues after a crash. Call it to show progress.
    ///
    /// - Parameter progress: Called now and then with the number of records that were worked on.
    /// - Throws: `closed`, `full`, `damaged` or `io`; what was done stays done.
    public func prepareIndexes(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws {
        let total = try read { try SchemaWork.countRecords($0.reader) }
        var done = 0
        while let count = try await withLogWriter({ try SchemaWork($0).goOn() }) {
            done += count
            progress(done, max(done, total))
        }
    }

    /// Waits until what was begun in the background is done, or has failed.
    package func waitForSchemaWork() async {
        await schemaWork.withLock { $0 }?.value
    }
}

/// What goes on in the background after a schema changed.
struct BackgroundSchemaWork {
    let store: Store

    /// Begins to do what a new schema left to do, and to count what waits to be pushed if another
    /// version of the program wrote last; ends with the store, which it does not hold.
    func start() {
        guard store.configuration.worksInBackground else { return }
        let entities = store.catalog.entities
        let resumes = entities.contains { $0.hasUnexamined == true }
        let isCounting = try? store.read { transaction in
            let reader = transaction.reader
            return try !OutboxCounter(reader).counting(at: reader.log.head).isComplete
        }
        guard resumes || entities.contains(where: \.hasWork) || isCounting == true else { return }
        store.schemaWork.withLock { work in
            work = Task { [weak store] in
                if resumes {
                    try? await store?.withLogWriter { try SchemaWork($0).resumeExamination() }
                }
                // A failure leaves the rest for the next open, or for `prepareIndexes` to report.
                while let store, !Task.isCancelled,
                    (try? await store.withLogWriter { try SchemaWork($0).goOn() }) ?? nil != nil
                {}
                // Each commit counts some more.
                while let store, !Task.isCancelled,
                    (try? await store.withLogWriter { $0.isCountingOutbox }) == true
                {}
            }
        }
    }
}
