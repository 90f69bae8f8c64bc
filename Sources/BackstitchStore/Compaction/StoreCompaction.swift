import BackstitchCore
import BackstitchLog
import LMDB

/// A compaction of a store's log, and of the pages of its file.
package struct StoreCompaction {
    private let store: Store
    private let budget: CompactionBudget

    /// - Parameter operationsPerChunk: The most operations that a commit looks at; nil for the usual number.
    package init(_ store: Store, operationsPerChunk: Int? = nil) {
        self.store = store
        var budget = CompactionBudget()
        budget.operations = operationsPerChunk ?? budget.operations
        self.budget = budget
    }

    /// Compacts what a policy need not keep.
    func run(
        _ policy: RetentionPolicy, _ progress: @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws -> CompactionReport {
        if let violation = policy.violation { throw StoreError(.invalidValue, violation) }
        let now = store.configuration.clock.milliseconds
        let horizon = try store.read { try LogHorizon($0.reader).horizon(policy, at: now) }
        return try await run(through: horizon, progress)
    }

    /// Compacts the operations up to a sequence, and the file.
    package func run(
        through horizon: UInt64,
        _ progress: @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> CompactionReport {
        let (pageBytes, allocatedBytes) = try sizes()
        let registered = store.registered
        let (before, limit, bounds) = try store.read { transaction in
            let reader = transaction.reader
            let limit = try LogHorizon(reader).limit()
            return (
                try reader.log.size(pageBytes: pageBytes),
                min(limit, try StoredProjections(reader).compactionLimit(of: registered) ?? limit),
                try LogHorizon(reader).compaction
            )
        }
        var run = CompactionRun(bounds, horizon: min(horizon, limit))
        try await shorten(&run, operations: before.operations, progress)
        if !Task.isCancelled { try await store.assets.collect() }
        let release = try await FileSpace(store).shrink()
        let (isDone, removed) = (run.isDone && release.isComplete, run.removed)
        let allocatedBytesAfter = try sizes().allocatedBytes
        return try store.read { transaction in
            let after = try transaction.reader.log.size(pageBytes: pageBytes)
            return CompactionReport(
                operationsBefore: before.operations, operationsAfter: after.operations,
                bytesBefore: before.bytes, bytesAfter: after.bytes, removed: removed,
                compactedThrough: try LogHorizon(transaction.reader).compaction.through,
                allocatedBytesBefore: allocatedBytes, allocatedBytesAfter: allocatedBytesAfter,
                returnedBytes: release.bytes, returnsSpace: release.isSupported, isComplete: isDone)
        }
    }

    /// Compacts the log in chunks, which get smaller if the disk is full.
    private func shorten(
        _ run: inout CompactionRun, operations: Int,
        _ progress: @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws {
        let span = run.isDone ? 0 : run.horizon - run.next + 1
        let total = min(operations, Int(clamping: span))
        var chunk = budget
        while !run.isDone, !Task.isCancelled {
            let (begun, size) = (run, chunk)
            do {
                run = try await store.withWriteContext { context in
                    var run = begun
                    context.log.compacts = true
                    let projections = context.projections
                    var compactor = Compactor(context.log) { try projections.reset(before: $0) }
                    try compactor.compact(&run, budget: size)
                    return run
                }
                chunk = chunk.doubled(upTo: budget)
            } catch let error as StoreError where error.code == .full {
                guard let half = chunk.half else { throw error }
                chunk = half
                continue
            }
            progress(run.visited, total)
        }
    }

    private func sizes() throws -> (pageBytes: Int, allocatedBytes: Int) {
        try StoreError.wrapping {
            (try store.environment.info.pageBytes, try store.environment.allocatedBytes)
        }
    }
}
