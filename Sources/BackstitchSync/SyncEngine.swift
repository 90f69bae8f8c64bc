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
    /// Records of which only the first edits were refused in the running round, because the rest was
    /// behind the fold or came meanwhile. They are pushed with all of them next.
    var wholes: Set<RecordPlace> = []
    /// The positions in the outbox of the items that the machine knows.
    var pushed: [PendingChange] = []
    /// Where the run of the log begins that is folded.
    var foldStart: UInt64 = 0
    /// Whether the service told in the running round that the zone changed.
    var isZoneChanged = false
    /// How many records the running round has to push; nil before that is known.
    var pushTotal: Int?
    let inFlight = Locked<Set<String>>([])
    /// Who waits for operations to be settled, and for rounds to end, by numbers.
    var waiters = Waiters()
    /// Whether the running round lets the local version win.
    var prefersLocal = false
    /// The rounds that began.
    var rounds = 0
    var hasCheckedAccount = false
    /// Whether what a selection held back was put in front of the outbox again.
    let hasLookedBack = Locked(false)
    private(set) var isStopped = false
    /// Whether this engine may exchange.
    private var hasLease = false

    /// Whether a round runs, or something else that must not meet one.
    var isRunning = false
    /// Whether the engine goes on by itself.
    var isStarted = false
    /// Who waits for the end of a run.
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    private var waiting: [CheckedContinuation<SyncReport, any Error>] = []
    var queue: TriggerQueue
    var hasDeadline = false
    var listener: Task<Void, Never>?
    var timer: RoundTimer?

    /// When the engine goes on by itself; nil where nothing makes it.
    package var nextAttemptMilliseconds: Int64? { timer?.dueMilliseconds }

    /// An engine for a store and a service; it does nothing until it is asked to.
    public init(
        store: Store, service: any RecordService, configuration: SyncConfiguration
    ) {
        self.store = store
        self.service = service
        self.configuration = configuration
        machine = SyncMachine(isAtomic: configuration.atomicRequests)
        queue = TriggerQueue(
            debounceMilliseconds: configuration.debounceMilliseconds,
            pollMilliseconds: configuration.pollMilliseconds)
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

    // MARK: Rounds on call

    /// Runs a first round, then follows its triggers and retries until ``stop()``: local writes, the
    /// timer, ``handle(notification:)`` and ``connectivityChanged(isReachable:)``.
    ///
    /// A service that can't be reached is no error: the engine goes on trying, and ``events`` tells.
    /// Nor is another process that synchronises the store: the engine takes over when that ends. After
    /// a failure of an earlier run that is still to be waited for, the first round begins behind that.
    /// - Throws: `store` where the store failed; `stopped` after ``stop()``.
    public func start() async throws {
        guard !isStopped else { throw Self.stopped }
        isStarted = true
        listenToWrites()
        do {
            try restoreDeadline()
            if waitsForDeadline() { return }
            _ = try await run(.start)
        } catch let error as SyncError where error.code != .store && error.code != .stopped {
            // Reported as an event; the engine goes on by itself.
        }
    }

    /// Runs one full round now, or joins the next one where one is under way.
    ///
    /// Waits for nothing, not even for the time that a failed round asked for.
    ///
    /// - Returns: what the round did.
    /// - Throws: ``SyncError`` where it ended early; what was not exchanged stays pending. `offline`
    ///   while the application says that there is no network.
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
        listener = nil
        disarm()
        setStatus(.stopped)
        let waiting = waiting
        self.waiting = []
        for continuation in waiting { continuation.resume(throwing: Self.stopped) }
        waiters.fail(Self.stopped)
        wakeIdleWaiters()
        hub.finish()
    }

    static let stopped = SyncError(.stopped, "The engine was stopped. Make another one.")

    static let offline = SyncError(
        .offline,
        "There is no network. What is pending is kept; call connectivityChanged(isReachable:) when "
            + "it is back.")

    // MARK: Rounds

    func run(_ trigger: SyncTrigger) async throws -> SyncReport {
        guard !isStopped else { throw Self.stopped }
        guard queue.isReachable else { throw Self.offline }
        if isRunning {
            return try await withCheckedThrowingContinuation { waiting.append($0) }
        }
        isRunning = true
        let first = await round(trigger)
        await endOfRun()
        return try first.get()
    }

    /// Serves the calls that came meanwhile, and lets the next trigger have its turn.
    func endOfRun() async {
        while !isStopped, !waiting.isEmpty {
            let joined = waiting
            waiting = []
            let result = queue.isReachable ? await round(.manual) : .failure(Self.offline)
            for continuation in joined { continuation.resume(with: result) }
        }
        isRunning = false
        queue.ended(
            nowMilliseconds: configuration.clock.milliseconds, polls: isStarted && status == .idle)
        if !queue.isReachable { setStatus(.offline) }
        arm()
        wakeIdleWaiters()
    }

    private func round(_ trigger: SyncTrigger) async -> Result<SyncReport, any Error> {
        report = SyncReport(trigger: trigger, changes: ChangeSet())
        queue.began()
        disarm()
        rounds += 1
        defer { wakeOperationWaiters() }
        do {
            try checkRules()
            guard try takeLease() else { return .failure(standBy()) }
            try restoreDeadline()
            hub.send(.started(trigger))
            let outcome = try await perform()
            guard let error = await conclude(outcome) else {
                hub.send(.finished(report))
                waiters.completed(round: rounds)
                return .success(report)
            }
            hub.send(.failed(error))
            return .failure(error)
        } catch {
            var failure = error as? SyncError
            if failure == nil {
                let due = await retry(after: ServiceError(.serviceUnavailable))
                failure = SyncError(
                    .store, "The store failed, and the round was ended: \(error)",
                    retryMilliseconds: due)
            }
            machine = SyncMachine(limits: machine.limits, isAtomic: configuration.atomicRequests)
            let reported = failure ?? Self.stopped
            hub.send(.failed(reported))
            return .failure(reported)
        }
    }

    // MARK: The lease

    func takeLease() throws -> Bool {
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
            queue.add(.start, atMilliseconds: next)
            due = next
        }
        return SyncError(
            .standby,
            "Another process synchronises the store. What is saved here is pushed by it; stop its "
                + "engine to let this one take over.", retryMilliseconds: due)
    }

    /// Turns the end of a round into status, retry and error.
    private func conclude(_ outcome: RoundOutcome) async -> SyncError? {
        guard !isStopped else { return Self.stopped }
        switch outcome {
        case .completed:
            backoff.succeeded()
            await settle()
            setStatus(.idle)
            return nil
        case .backOff(let error):
            let due = await retry(after: error)
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
                    + "when the cause is gone.", serviceError: error,
                retryMilliseconds: retryBlocked(after: error))
        case .suspended(let code):
            setStatus(.suspended(code))
            return SyncError(
                .suspended,
                "The zone is gone (\(code.rawValue)). Local data is kept. Call resume(after:) to "
                    + "upload it again, or to erase it.", serviceError: ServiceError(code))
        }
    }
}
