import BackstitchCore
import BackstitchLog
import Threading

/// The work that a changed schema leaves in a store, in commits of its own.
package struct BackgroundSchemaWork {
    private let store: Store

    package init(_ store: Store) { self.store = store }

    /// Works until nothing is left to do.
    func prepare(_ progress: @Sendable (_ done: Int, _ total: Int) -> Void) async throws {
        let total = try store.read { try SchemaWork.countRecords($0.reader) }
        var done = 0
        var pace = SchemaWorkPace()
        while let count = try await Self.goOn(&pace, in: store) {
            done += count
            progress(done, max(done, total))
        }
    }

    /// Does what one commit may; nil if nothing is left to do.
    private static func goOn(_ pace: inout SchemaWorkPace, in store: Store) async throws -> Int? {
        let clock = store.configuration.clock
        let (start, limit) = (clock.milliseconds, pace.records)
        let count = try await store.withLogWriter { try SchemaWork($0).goOn(limit: limit) }
        pace.note(milliseconds: clock.milliseconds &- start)
        return count
    }

    /// Waits until what was begun in the background is done, or has failed.
    package func wait() async { await store.schemaWork.withLock { $0 }?.value }

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
                var pace = SchemaWorkPace()
                while let store, !Task.isCancelled,
                    (try? await Self.goOn(&pace, in: store)) ?? nil != nil
                {}
                // Each commit counts some more.
                while let store, !Task.isCancelled,
                    (try? await store.withLogWriter { $0.isCountingOutbox }) == true
                {}
            }
        }
    }
}
