import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Gives up parked changes: each record becomes the version that the service is known to have,
    /// or is deleted if the service never had it. The lost values stay in ``conflicts()``.
    ///
    /// - Parameter records: Some of ``parked()``.
    /// - Returns: the number of records that were parked.
    /// - Throws: `StoreError` if the store fails.
    @discardableResult
    public func discardParked(_ records: [ParkedRecord]) async throws -> Int {
        try await store.withLogWriter { context in
            var count = 0
            for record in records {
                guard let table = context.reader.catalog.table(named: record.record.entity) else {
                    continue
                }
                if try Discard(context).discardParked(
                    table.number, record.record.key)
                {
                    count += 1
                }
            }
            return count
        }
    }
}
