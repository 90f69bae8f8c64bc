import BackstitchCore
public import BackstitchStore
import LMDB

/// Keeps a store and a zone of a service the same.
///
/// A round pulls what the service has and pushes what it lacks. The engine never loses a local
/// write: an operation stays in the store's outbox until the service has it, a conflict policy has
/// decided against it (then the journal keeps its values), or it is parked with a reason.
///
/// One engine per store exchanges at a time, also among processes: the first that runs a round has
/// the lease until it is stopped, its store is closed, or its process ends. The others stand by,
/// and their processes' writes are synchronised by the one that has it. Rounds run one after another; a trigger during a round
/// leads to another round.
public actor SyncEngine {
    /// The store whose records are exchanged.
    public nonisolated let store: Store
    /// How the engine works.
    public nonisolated let configuration: SyncConfiguration
    let service: any RecordService
    nonisolated let hub = EventHub()
    private nonisolated let statusState = Locked(SyncStatus.idle)

    var machine: SyncMachine
    var backoff = Backoff()
    /// What the running round has done.
    var report = SyncReport(trigger: .manual, changes: ChangeSet())
    /// What was folded for the running pass.
    var outbox = Outbox()
    /// The positions in the outbox of the items that the machine knows.
    var pushed: [PendingChange] = []
    /// Where the run of the log begins that is folded.
    var foldStart: UInt64 = 0
    var hasCheckedAccount = false
    private(set) var isStopped = false
    /// Whether this engine may exchange.
    private var hasLease = false

    private var isRunning = false
    /// Whether the engine goes on by itself.
    private var isStarted = false
    private var waiting: [CheckedContinuation<SyncReport, any Error>] = []
    private var nextTrigger: SyncTrigger?
    private var listener: Task<Void, Never>?
    private var timer: Timer?

    /// When the engine goes on by itself; nil where nothing makes it.
    package var nextAttemptMilliseconds: Int64? { timer?.dueMilliseconds }

    /// What is due at a time.
    private struct Timer {
        var trigger: SyncTrigger
        var dueMilliseconds: Int64
        var task: Task<Void, Never>
    }

    /// An engine for a store and a service; it does nothing until it is asked to.
    public init(
        store: Store, service: any RecordService, configuration: SyncConfiguration
    ) {
        self.store = store
        self.service = service
        self.configuration = configuration
        machine = SyncMachine(isAtomic: configuration.atomicRequests)
    }

    deinit {
        if hasLease { store.giveSyncLeaseBack() }
        listener?.cancel()
        timer?.task.cancel()
        hub.finish()
    }

    var zone: ZoneID { ZoneID(configuration.zoneName) }

    /// What the engine is doing.
    public nonisolated var status: SyncStatus { statusState.withLock { $0 } }

    func setStatus(_ status: SyncStatus) {
        guard !isStopped || status == .stopped else { return }
        statusState.withLock { $0 = status }
    }

    /// The events from now on; each call gives a stream of its own.
    public nonisolated var events: SyncEventStream { hub.stream() }

    // MARK: Triggers

    /// Runs a first round, then follows local writes and retries until ``stop()``.
    ///
    /// A service that can't be reached is no error: the engine goes on trying, and ``events`` tells.
    /// Nor is another process that synchronises the store: the engine takes over when that ends.
    /// - Throws: `store` where the store failed; `stopped` after ``stop()``.
    public func start() async throws {
        guard !isStopped else { throw Self.stopped }
        isStarted = true
        if listener == nil, configuration.syncOnSave {
            let changes = store.changes()
            listener = Task { [weak self] in
                for await change in changes where change.origins.contains(.local) {
                    await self?.schedule(.save)
                }
            }
        }
        do {
            _ = try await run(.start)
        } catch let error as SyncError where error.code != .store && error.code != .stopped {
            // Reported as an event; the engine goes on by itself.
        }
    }

    /// Runs one full round now, or joins the next one where one is under way.
    ///
    /// - Returns: what the round did.
    /// - Throws: ``SyncError`` where it ended early; what was not exchanged stays pending.
    @discardableResult
    public func sync() async throws -> SyncReport {
        try await run(.manual)
    }

    /// Ends the engine: no further round begins. A request that is under way is let go; what it did
    /// is found out by the next engine on the store.
    public func stop() {
        isStopped = true
        giveLeaseBack()
        listener?.cancel()
        timer?.task.cancel()
        listener = nil
        timer = nil
        setStatus(.stopped)
        let waiting = waiting
        self.waiting = []
        for continuation in waiting { continuation.resume(throwing: Self.stopped) }
        hub.finish()
    }

    static let stopped = SyncError(.stopped, "The engine was stopped. Make another one.")

    /// Lets a round begin after the debounce time, unless one is due before.
    private func schedule(_ trigger: SyncTrigger) {
        if isRunning {
            nextTrigger = nextTrigger ?? trigger
        } else {
            schedule(
                trigger,
                atMilliseconds: configuration.clock.milliseconds
                    + configuration.debounceMilliseconds)
        }
    }

    private func schedule(_ trigger: SyncTrigger, atMilliseconds due: Int64) {
        guard !isStopped else { return }
        if let timer {
            // While backing off, a save does not hurry the next attempt.
            if timer.dueMilliseconds <= due { return }
            if case .backingOff = status, trigger == .save { return }
            timer.task.cancel()
        }
        let clock = configuration.clock
        let wait = due - clock.milliseconds
        timer = Timer(
            trigger: trigger, dueMilliseconds: due,
            task: Task { [weak self] in
                do {
                    try await clock.sleep(milliseconds: max(0, wait))
                } catch {
                    return
                }
                await self?.fire(trigger, dueMilliseconds: due)
            })
    }

    private func fire(_ trigger: SyncTrigger, dueMilliseconds due: Int64) async {
        // A timer that was replaced may have slept through its cancellation.
        guard timer?.trigger == trigger, timer?.dueMilliseconds == due else { return }
        timer = nil
        do {
            _ = try await run(trigger)
        } catch {
            // Reported as an event, and tried again where that helps.
        }
    }

    /// Waits for the next attempt after a failure.
    ///
    /// - Returns: when that is; nil where the engine does not go on by itself.
    private func retry(after error: ServiceError) -> Int64? {
        let wait = backoff.failed(error, random: configuration.clock.random())
        let due = configuration.clock.milliseconds + wait
        setStatus(.backingOff(untilMilliseconds: due))
        guard isStarted else { return nil }
        schedule(.retry, atMilliseconds: due)
        return due
    }

    // MARK: Rounds

    private func run(_ trigger: SyncTrigger) async throws -> SyncReport {
        guard !isStopped else { throw Self.stopped }
        if isRunning {
            return try await withCheckedThrowingContinuation { waiting.append($0) }
        }
        isRunning = true
        let first = await round(trigger)
        while !isStopped, !waiting.isEmpty {
            let joined = waiting
            waiting = []
            let result = await round(.manual)
            for continuation in joined { continuation.resume(with: result) }
        }
        isRunning = false
        if let trigger = nextTrigger {
            nextTrigger = nil
            schedule(trigger)
        }
        return try first.get()
    }

    private func round(_ trigger: SyncTrigger) async -> Result<SyncReport, any Error> {
        report = SyncReport(trigger: trigger, changes: ChangeSet())
        do {
            guard try takeLease() else { return .failure(standBy()) }
            hub.send(.started(trigger))
            let outcome = try await perform()
            guard let error = conclude(outcome) else {
                hub.send(.finished(report))
                return .success(report)
            }
            hub.send(.failed(error))
            return .failure(error)
        } catch {
            var failure = error as? SyncError
            if failure == nil {
                failure = SyncError(
                    .store, "The store failed, and the round was ended: \(error)",
                    retryMilliseconds: retry(after: ServiceError(.serviceUnavailable)))
            }
            machine = SyncMachine(limits: machine.limits, isAtomic: configuration.atomicRequests)
            let reported = failure ?? Self.stopped
            hub.send(.failed(reported))
            return .failure(reported)
        }
    }

    // MARK: The lease

    private func takeLease() throws -> Bool {
        if !hasLease { hasLease = try store.takeSyncLease() }
        return hasLease
    }

    private func giveLeaseBack() {
        guard hasLease else { return }
        hasLease = false
        store.giveSyncLeaseBack()
    }

    /// Waits for the end of whoever synchronises the store.
    private func standBy() -> SyncError {
        setStatus(.standby)
        var due: Int64?
        if isStarted {
            let next = configuration.clock.milliseconds + configuration.standbyMilliseconds
            schedule(.start, atMilliseconds: next)
            due = next
        }
        return SyncError(
            .standby,
            "Another process synchronises the store. What is saved here is pushed by it; stop its "
                + "engine to let this one take over.", retryMilliseconds: due)
    }

    /// Turns the end of a round into status, retry and error.
    private func conclude(_ outcome: RoundOutcome) -> SyncError? {
        guard !isStopped else { return Self.stopped }
        switch outcome {
        case .completed:
            backoff.succeeded()
            if timer?.trigger == .retry {
                timer?.task.cancel()
                timer = nil
            }
            setStatus(.idle)
            return nil
        case .backOff(let error):
            let due = retry(after: error)
            return SyncError(
                .unreachable,
                "The service could not take or give everything (\(error)). The rest stays pending.",
                serviceError: error, retryMilliseconds: due)
        case .blocked(let error):
            // Whoever is signed in when it goes on may be somebody else.
            hasCheckedAccount = false
            setStatus(.blocked(error.code))
            return SyncError(
                .blocked,
                "The service refuses to exchange (\(error)). Pending changes are kept; sync again "
                    + "when the cause is gone.", serviceError: error)
        case .suspended(let code):
            setStatus(.suspended(code))
            return SyncError(
                .suspended,
                "The zone is gone (\(code.rawValue)). Local data is kept. Call resume(after:) to "
                    + "upload it again, or to erase it.", serviceError: ServiceError(code))
        }
    }
}
