import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// Runs the writes of a store on its writer thread: those that wait share a commit, and each gets its
/// own result.
final class StoreWriter: Sendable {
    let environment: Environment
    private let databases: Databases
    private let configuration: StoreConfiguration
    private let shared: SharedState
    private let registered: RegisteredProjections
    private let writes = GroupCommit(WriteQueue())
    private let compactionInPassing = Locked(CompactionInPassing())
    private let releasePace = Locked(ReleasePace())
    private let fault = Locked(Fault())

    /// What a test lets the next commit meet; nil for nothing.
    private struct Fault {
        var next: (@Sendable () throws -> Void)?
    }

    init(_ files: OpenFiles, _ registered: RegisteredProjections) {
        environment = files.environment
        databases = files.databases
        configuration = files.configuration
        shared = files.shared
        self.registered = registered
    }

    /// Why commits don't compact the log any more, though the configuration wants it; nil if they do.
    var compactionFailure: StoreError? { compactionInPassing.withLock(\.failure) }

    /// Sets what runs before each commit; an error it throws makes the commit fail.
    func setFault(_ fault: (@Sendable () throws -> Void)?) {
        self.fault.withLock { $0.next = fault }
    }

    /// Runs a write on the writer thread, with those that wait.
    ///
    /// - Parameter waits: Whether the caller waits for it, and may run it by itself.
    func submit(_ job: WriteJob, waits: Bool = false) {
        // A forked child lacks the thread that works jobs off, if one did when it was forked.
        do throws(LMDBError) {
            try environment.checkProcess()
        } catch {
            return job.finish(StoreError.wrap(error))
        }
        writes.submit(to: environment.writer, waits: waits) {
            $0.add(job)
            return true
        } commit: { [self] first in
            commit(first)
            releaseSpaceInPassing()
        }
    }

    /// Runs a write on the writer thread, and waits for its commit.
    func run<Result: Sendable>(
        author: String?, context: String, isLocalOnly: Bool, isBounded: Bool,
        _ body: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        try WriteJob.check(author, context)
        let result = Locked<Result?>(nil)
        try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Void, any Error>) in
            submit(
                WriteJob(
                    author: author, context: context, isLocalOnly: isLocalOnly,
                    isBounded: isBounded,
                    run: { context in
                        let value = try body(context)
                        result.withLock { $0 = value }
                    },
                    finish: { error in
                        if let error {
                            continuation.resume(throwing: error)
                        } else {
                            continuation.resume()
                        }
                    }))
        }
        guard let value = result.withLock({ $0 }) else { throw StoreError.closed }
        return value
    }

    /// Runs a write and those that wait, as many as possible in one LMDB transaction; on the writer thread.
    ///
    /// Each gets its own result. One that throws leaves no trace: if it had written anything, the LMDB
    /// transaction is aborted and the others run again, as ``CommitPlan`` says. That costs nothing while
    /// writes succeed, if a child transaction each would cost an allocation of two megabytes.
    private func commit(_ first: WriteJob) {
        var compacts = configuration.retention != .keepAll
        var takesMissed = true
        let start = configuration.monitor.map { _ in configuration.clock.now }
        var operations = 0
        var largeRecords: [String: Int] = [:]
        var jobCount = 0
        var failure: (any Error)?
        writes.commit(first, jobsMax: WriteQueue.jobsMax) { jobs in
            var hasTakenMissed = false
            do {
                let (changes, catalog, large) = try attempt(
                    &jobs, compacts: compacts, takesMissed: takesMissed,
                    hasTakenMissed: &hasTakenMissed)
                if let catalog { shared.catalog.set(catalog) }
                operations += changes.reduce(0) { $0 + $1.sequences.count }
                largeRecords.merge(large) { $0 + $1 }
                shared.feed.publish(changes)
            } catch  where hasTakenMissed && error.isAboutSpaceOfWrite {
                throw NoSpaceForViews()
            }
        } verdict: { error, count in
            switch error {
            case let failed as CompactionFailed:
                compactionInPassing.withLock { $0.stop(failed.error) }
                compacts = false
                return .again
            case let error as LMDBError where error.isAboutSpace && compacts:
                // What is written comes before what is tidied up.
                compacts = false
                return .again
            case is NoSpaceForViews:
                takesMissed = false
                return .again
            case let error as LMDBError where error.isAboutSpace && count > 1:
                // What is too large for the space left must not take the others with it.
                return .separate
            default: return .fail
            }
        } finish: { jobs in
            for (job, error) in jobs {
                let error = error.map { StoreError.wrap($0, commits: true) }
                jobCount += 1
                failure = error ?? failure
                job.finish(error)
            }
        }
        guard let start else { return }
        configuration.monitor?(
            MonitorEvent(
                "store.commit", date: configuration.clock.now, since: start,
                counts: ["operations": operations, "writes": jobCount],
                error: failure.map { ($0 as? StoreError)?.code.description ?? "thrown" }))
        guard !largeRecords.isEmpty else { return }
        configuration.monitor?(
            MonitorEvent(
                "store.largeRecords", date: configuration.clock.now, counts: largeRecords))
    }

    private func attempt(
        _ jobs: inout CommitAttempt<WriteQueue>, compacts: Bool, takesMissed: Bool,
        hasTakenMissed: inout Bool
    ) throws -> (changes: [ChangeSet], catalog: CatalogSnapshot?, largeRecords: [String: Int]) {
        let (changes, catalog, large, compaction) = try environment.write { transaction in
            jobs.begin()
            // Not the one of the last commit here: another process may have added to it since.
            let catalog = try shared.catalog.current(transaction.access, databases)
            let context = try WriteContext(
                access: transaction.access, databases: databases, configuration: configuration,
                catalog: catalog,
                contents: ContentFolder(store: environment.directory))
            let log = context.log
            hasTakenMissed = try context.projections.begin(registered, takesMissed: takesMissed)
            var changes: [ChangeSet] = []
            var large: [String: Int] = [:]
            var othersFree = true
            // Also where the disk is full in the middle.
            defer { if othersFree, log.freesSpace { transaction.mayTakeReserve() } }
            while let (place, job) = jobs.next() {
                othersFree = changes.isEmpty || othersFree && log.freesSpace
                context.begin(job)
                do {
                    try job.run(context)
                    if let failure = log.failure { throw failure }
                    try context.checkUniques()
                } catch {
                    // A write that changed nothing can just be left out.
                    if log.hasWritten || (hasTakenMissed && error.isAboutSpaceOfWrite) {
                        throw JobFailed(place, error)
                    }
                    jobs.refuse(place, error)
                    continue
                }
                var changed = log.changes
                changed.name(by: log.catalog)
                changes.append(changed)
                large.merge(log.largeRecords) { $0 + $1 }
            }
            let compaction = compacts ? try compactInPassing(context) : nil
            try context.finish()
            try fault.withLock(\.next)?()
            return (changes, log.catalogChanges.isPending ? log.catalog : nil, large, compaction)
        }
        if let compaction { compactionInPassing.withLock { $0 = compaction } }
        return (changes, catalog, large)
    }

    private func compactInPassing(_ context: WriteContext) throws -> CompactionInPassing {
        var compaction = compactionInPassing.withLock { $0 }
        do {
            let projections = context.projections
            try compaction.work(
                context.log, policy: configuration.retention, at: configuration.clock.milliseconds,
                limit: { reader in
                    try projections.registered.flatMap {
                        try StoredProjections(reader).compactionLimit(of: $0)
                    }
                        ?? .max
                },
                willReplace: { try projections.reset(before: $0) })
        } catch let error as LMDBError where error.isAboutSpace {
            throw error
        } catch {
            throw CompactionFailed(error: error)
        }
        return compaction
    }

    /// Gives some free pages back after a commit, if its pace says so; on the writer thread.
    ///
    /// A failure ends it until the store is opened again: what was written is not affected, and
    /// ``Store/compact(_:progress:)`` tells of it.
    private func releaseSpaceInPassing() {
        var pace = releasePace.withLock { $0 }
        let step = pace.next()
        do {
            switch step {
            case .nothing: break
            case .look:
                let free = try environment.allocatedBytes - environment.info.usedBytes
                pace.found(freeBytes: free, allocatedBytes: try environment.allocatedBytes)
            case .release(let below):
                let done = try environment.releaseFreePages(below: below)
                pace.released(next: done.next, isSupported: done.isSupported)
            }
        } catch {
            pace.stop()
        }
        releasePace.withLock { $0 = pace }
    }
}

/// Says that a commit failed in its compaction, so that it has to be made without.
struct CompactionFailed: Error {
    let error: any Error
}
