import BackstitchCore
import BackstitchLog
import LMDB

/// The compaction that commits do in passing, as ``CompactionPace`` allows. A value: what a commit
/// did counts once it is made.
struct CompactionInPassing: Sendable {
    private var pace = CompactionPace()
    private var run: CompactionRun?
    /// Why it stands still until the store is opened again.
    private(set) var failure: StoreError?

    /// Works through as many old operations as the running commit may.
    mutating func work(
        _ context: WriteContext, policy: RetentionPolicy, at milliseconds: Int64
    ) throws {
        guard failure == nil else { return }
        var left = pace.budget(afterCommitOf: context.log.appendedCount)
        guard left > 0 else { return }
        var run = self.run
        if run == nil {
            let limit = try context.projections.registered.flatMap {
                try context.log.reader.compactionLimit(of: $0)
            }
            run = try newRun(context.log.reader, policy, milliseconds, limit: limit ?? .max)
        }
        guard var run else { return }
        var compactor = Compactor(context)
        while left > 0, !run.isDone {
            let visitedBefore = run.visited
            var budget = CompactionBudget()
            budget.operations = min(budget.operations, left)
            try compactor.compact(&run, budget: budget)
            let visited = run.visited - visitedBefore
            pace.spend(visited)
            left -= visited
        }
        self.run = run.isDone ? nil : run
    }

    private mutating func newRun(
        _ reader: TableReader, _ policy: RetentionPolicy, _ milliseconds: Int64, limit: UInt64
    ) throws -> CompactionRun? {
        let bounds = try reader.compaction
        var extent = CompactionPace.Extent(
            operations: try reader.access.count(of: reader.databases.log),
            compactedThrough: bounds.through, limit: min(limit, try reader.compactionLimit))
        guard pace.isDue(extent, at: milliseconds) else { return nil }
        extent.limit = min(limit, try reader.compactionHorizon(policy, at: milliseconds))
        guard pace.isDue(extent, at: milliseconds) else {
            pace.rest(at: milliseconds)
            return nil
        }
        return CompactionRun(bounds, horizon: extent.limit)
    }

    /// Stands still after a failure.
    mutating func stop(_ error: any Error) {
        run = nil
        failure = (StoreError.wrap(error) as? StoreError) ?? StoreError(.io, "\(error)")
    }
}

/// Says that a commit failed in its compaction, so that it has to be made without.
struct CompactionFailed: Error {
    let error: any Error
}
