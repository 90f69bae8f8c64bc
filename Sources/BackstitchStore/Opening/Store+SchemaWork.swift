import BackstitchCore
import BackstitchLog

extension Store {
    /// The attributes whose indexes are being built, as `Entity.attribute`, and indexes of several as
    /// `Entity(first, second)`; queries do without them until they are complete.
    public var indexesBeingBuilt: [String] {
        get throws { try read { $0.reader.catalog.catalog.indexesBeingBuilt } }
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
        try await BackgroundSchemaWork(self).prepare(progress)
    }
}
