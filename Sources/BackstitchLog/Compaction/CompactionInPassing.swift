package import BackstitchCore
import LMDB

/// The compaction that commits do in passing, as ``CompactionPace`` allows. A value: what a commit
/// did counts once it is made.
package struct CompactionInPassing: Sendable {
    private var pace = CompactionPace()
    private var run: CompactionRun?
    /// Why it stands still until the store is opened again.
    package private(set) var failure: StoreError?

    package init() {}

    /// Works through as many old operations as the running commit may.
    ///
    /// - Parameters:
    ///   - limit: The last operation that only sync may still need. It is called before a run begins.
    ///   - willReplace: Called before operations up to a sequence are replaced.
    package mutating func work(
        _ log: LogWriter, policy: RetentionPolicy, at milliseconds: Int64,
        limit: (TableReader) throws -> UInt64, willReplace: @escaping (UInt64) throws -> Void
    ) throws {
        guard failure == nil else { return }
        var left = pace.budget(afterCommitOf: log.appendedCount)
        guard left > 0 else { return }
        var run = self.run
        if run == nil {
            run = try newRun(log, policy, milliseconds, limit: limit(log.reader))
        }
        guard var run else { return }
        var compactor = Compactor(log, willReplace: willReplace)
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
        _ log: LogWriter, _ policy: RetentionPolicy, _ milliseconds: Int64, limit: UInt64
    ) throws -> CompactionRun? {
        let logHorizon = LogHorizon(log.reader)
        let bounds = try logHorizon.compaction
        var extent = CompactionPace.Extent(
            operations: try log.access.count(of: log.databases.log),
            compactedThrough: bounds.through, limit: min(limit, try logHorizon.limit(log.tally)))
        guard pace.isDue(extent, at: milliseconds) else { return nil }
        extent.limit = min(
            limit, try logHorizon.horizon(policy, at: milliseconds, tally: log.tally))
        guard pace.isDue(extent, at: milliseconds) else {
            pace.rest(at: milliseconds)
            return nil
        }
        return CompactionRun(bounds, horizon: extent.limit)
    }

    /// Stands still after a failure.
    package mutating func stop(_ error: any Error) {
        run = nil
        failure = (StoreError.wrap(error) as? StoreError) ?? StoreError(.io, "\(error)")
    }
}
