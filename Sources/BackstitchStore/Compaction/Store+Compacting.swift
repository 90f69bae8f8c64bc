public import BackstitchCore
import BackstitchLog
import LMDB

extension Store {
    /// Replaces operations of the log that the policy need not keep by baselines.
    ///
    /// The tables, the outbox and the conflict journal stay as they are, and still follow from the
    /// log. Operations that sync may need are kept whatever the policy says: a store that was never
    /// synced keeps all. So are those that a projection of this store has not taken in yet. Works in chunks of some twenty milliseconds, each a commit of its own:
    /// writers wait that long, readers not at all. A crash leaves the chunks that were committed.
    ///
    /// Then half-empty pages of the log and the tables are packed, and free pages go back to the
    /// file system, except 64 for the next commits, short runs, and pages that a reader of any
    /// process still needs. If many free pages are scattered, pages are moved to bring them
    /// together. This also happens in chunks, and even if no operation may be removed.
    ///
    /// On a full disk the chunks get smaller until one fits into the pages that are free. If none
    /// does, it fails with `full`; free some MiB of the disk, and run it again. Pages that can't be packed
    /// or moved for lack of space stay, and the report says that it is not complete.
    ///
    /// With ``StoreConfiguration/retention``, commits do the same in passing. Call this for stores
    /// without that setting, or to compact at once.
    ///
    /// - Parameters:
    ///   - policy: What to keep. Operations that were removed earlier do not come back.
    ///   - progress: Called after each chunk, on another thread. Its total is an upper bound.
    /// - Returns: what was done. If the task is cancelled it stops between two chunks.
    /// - Throws: `invalidValue` if the policy is impossible; `damaged` if the log is; it is then
    ///   unchanged from that chunk on; `closed`, `full`, `io`.
    /// - Complexity: O(*n*) in the operations since the last compaction, about five microseconds each.
    @discardableResult
    public func compact(
        _ policy: RetentionPolicy, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) async throws -> CompactionReport {
        if let violation = policy.violation { throw StoreError(.invalidValue, violation) }
        let now = configuration.clock.milliseconds
        let horizon = try read { try $0.reader.compactionHorizon(policy, at: now) }
        return try await compact(through: horizon, progress: progress)
    }

    /// Compacts the operations up to a sequence; as ``compact(_:progress:)``.
    ///
    /// - Parameter horizon: The last operation that may go. Those that sync may need stay.
    @discardableResult
    public func compact(
        through horizon: UInt64, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) async throws -> CompactionReport {
        try await StoreCompaction(store: self, budget: CompactionBudget(), progress: progress)
            .run(through: horizon)
    }

    /// Compacts in chunks of another size.
    package func compact(
        through horizon: UInt64, operationsPerChunk: Int
    ) async throws -> CompactionReport {
        var budget = CompactionBudget()
        budget.operations = operationsPerChunk
        return try await StoreCompaction(store: self, budget: budget).run(through: horizon)
    }
}

/// A compaction of a store, chunk by chunk.
private struct StoreCompaction {
    let store: Store
    let budget: CompactionBudget
    var progress: @Sendable (WorkProgress) -> Void = { _ in }

    /// Compacts the operations up to a sequence, then packs and releases pages.
    func run(through horizon: UInt64) async throws -> CompactionReport {
        let (pageBytes, allocatedBytes) = try sizes()
        let (before, limit, bounds) = try store.read { transaction in
            let reader = transaction.reader
            let limit = try reader.compactionLimit
            return (
                try reader.logSize(pageBytes: pageBytes),
                min(limit, try reader.compactionLimit(of: store.registered) ?? limit),
                try reader.compaction
            )
        }
        var run = CompactionRun(bounds, horizon: min(horizon, limit))
        let span = run.isDone ? 0 : run.horizon - run.next + 1
        let total = min(before.operations, Int(clamping: span))
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
            progress(WorkProgress(done: run.visited, total: total))
        }
        let release = try await FileSpace(store).shrink()
        let (isDone, removed) = (run.isDone && release.isComplete, run.removed)
        let allocatedBytesAfter = try sizes().allocatedBytes
        return try store.read { transaction in
            let after = try transaction.reader.logSize(pageBytes: pageBytes)
            return CompactionReport(
                operationsBefore: before.operations, operationsAfter: after.operations,
                bytesBefore: before.bytes, bytesAfter: after.bytes, removed: removed,
                compactedThrough: try transaction.reader.compaction.through,
                allocatedBytesBefore: allocatedBytes, allocatedBytesAfter: allocatedBytesAfter,
                returnedBytes: release.bytes, returnsSpace: release.isSupported, isComplete: isDone)
        }
    }

    private func sizes() throws -> (pageBytes: Int, allocatedBytes: Int) {
        do {
            return (try store.environment.info.pageBytes, try store.environment.allocatedBytes)
        } catch {
            throw StoreError.wrap(error)
        }
    }
}
