import BackstitchCore
import BackstitchLog
public import BackstitchStore
import Threading

/// Keeps a store and a zone of a service the same.
///
/// A round pulls what the service has and pushes what it lacks. The engine never loses a local
/// write: an operation stays in the store's outbox until the service has it, a conflict policy has
/// decided against it (then the journal keeps its values), or it is parked with a reason.
///
/// One engine per store exchanges at a time, whoever made it, also among processes: the first that runs
/// a round has its turn until it is stopped or released, its store is closed, or its process ends. The
/// others stand by, and what is saved there is synchronised by the one that has it. After ``stop()``
/// another engine on the same `Store` object goes on at once, and one in another process once the
/// request that was under way has ended; what is answered to that request then is not stored any more.
/// Rounds run one after another; a trigger during a round leads to another round.
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
    let largestPass = Locked(0)
    /// The bytes of memory that the largest pass so far took, roughly.
    package nonisolated var passBytes: Int { largestPass.withLock { $0 } }
    /// Where the run of the log begins that is folded.
    var foldStart: UInt64 = 0
    /// Whether the service told in the running round that the zone changed.
    var isZoneChanged = false
    /// How many records the running round has to push; nil before that is known.
    var pushTotal: Int?
    let inFlight = Locked<Set<String>>([])
    /// Who waits for operations to be settled, for rounds to end, and for what runs, by numbers.
    var waiters = Waiters()
    /// Whether the running round lets the local version win.
    var prefersLocal = false
    /// The rounds that began.
    var rounds = 0
    var hasCheckedAccount = false
    /// Whether what a selection held back was put in front of the outbox again.
    let hasLookedBack = Locked(false)
    /// Why the engine has ended; nil while it goes on.
    private(set) var ending: SyncError?
    var isStopped: Bool { ending != nil }
    /// The engine's right to exchange; held until its last request has ended.
    private var turn: SyncTurn?
    /// What the next request is made from.
    private var basis: SyncBasis?

    /// Whether a round runs, or something else that must not meet one.
    var isRunning: Bool { work != nil }
    /// What runs. It keeps the engine until it has ended.
    private var work: Task<Void, Never>?
    /// Whether the engine goes on by itself.
    var isStarted = false
    var queue: TriggerQueue
    var hasDeadline = false
    var listener: Task<Void, Never>?
    var timer: RoundTimer?

    /// When the engine goes on by itself; nil if nothing makes it.
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
        listener?.cancel()
        timer?.task.cancel()
        hub.finish()
    }

    /// The zone that the records were moved to by this engine; nil if they were not.
    nonisolated let movedTo = Locked<String?>(nil)

    /// The name of the zone that the engine exchanges with: the configuration's, or the one that
    /// ``move(to:adoptsUser:)`` named since.
    public nonisolated var zoneName: String { movedTo.withLock { $0 } ?? configuration.zoneName }

    var zone: ZoneID { ZoneID(zoneName) }

    /// The name of the subscription to the zone's changes.
    var subscriptionID: String {
        zoneName == configuration.zoneName
            ? configuration.subscriptionID : SyncConfiguration.subscriptionID(of: zoneName)
    }

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
    /// A service that can't be reached and a full disk are no errors: the engine goes on trying, and
    /// ``events`` tells. Nor is another engine that synchronises the store: this one takes over when
    /// that ends. After a failure of an earlier run that is still to be waited for, the first round begins behind that.
    /// An engine whose store is closed ends, as by ``stop()``.
    /// - Throws: `invalidConfiguration` if the configuration can't work with the store, which no
    ///   later try changes; `store` if the store failed; `stopped` after ``stop()``, and where the
    ///   store was closed; `CancellationError` if the task is cancelled, and the engine goes on by
    ///   itself.
    public func start() async throws {
        try checkGoesOn()
        do {
            try checkConfiguration()
        } catch {
            throw reported(error)
        }
        isStarted = true
        listenToWrites()
        do {
            try restoreDeadline()
            if waitsForDeadline() { return }
            _ = try await run(.start)
        } catch let error as SyncError where error.code != .store && error.code != .stopped {
            // Reported as an event; the engine goes on by itself.
        } catch {
            throw reported(error)
        }
    }

    /// Runs one full round now, or joins the next one if one is under way.
    ///
    /// Waits for nothing, not even for the time that a failed round asked for.
    ///
    /// Cancel the task to give up: the call returns at once, also while the service does not answer.
    /// A request that is under way is told to end, and what it did is found out when it has ended, or
    /// by the next round; until then no other request begins. The round then ends early, unless the
    /// engine was started and would run it anyway.
    /// - Returns: what the round did.
    /// - Throws: ``SyncError`` if it ended early; what was not exchanged stays pending. `offline`
    ///   while the application says that there is no network, `standby` while another engine
    ///   synchronises the store, `stopped` after ``stop()``; `CancellationError`.
    @discardableResult
    public func sync() async throws -> SyncReport {
        try await run(.manual)
    }

    /// Ends the engine, and every call that waits for it with `stopped`: no further request begins.
    ///
    /// Returns at once, also while the service does not answer. A request that is under way is told to
    /// end and let go: what is answered to it is not stored, and the next engine finds out what it did.
    public func stop() { end(Self.stopped) }

    private func end(_ reason: SyncError) {
        guard !isStopped else { return }
        ending = reason
        turn?.end()
        if let work { work.cancel() } else { letGo() }
        listener?.cancel()
        listener = nil
        disarm()
        setStatus(.stopped)
        waiters.fail(reason)
        hub.finish()
    }

    /// Gives the turn back, as no request of this engine is under way any more.
    private func letGo() {
        basis = nil
        turn = nil
    }

    /// - Throws: why the engine has ended, if it has.
    func checkGoesOn() throws {
        if let ending { throw ending }
    }

    private static let stopped = SyncError(.stopped, "The engine was stopped. Make another one.")

    private static let closed = SyncError(
        .stopped,
        "The store was closed, and the engine with it. Open the store again and make another one.")

    private static let cancelled = SyncError(
        .cancelled, "The call was cancelled, and the round ended early. The rest stays pending.")

    static let offline = SyncError(
        .offline,
        "There is no network. What is pending is kept; call connectivityChanged(isReachable:) when "
            + "it is back.")

    // MARK: Rounds

    func run(_ trigger: SyncTrigger) async throws -> SyncReport {
        try checkGoesOn()
        try Task.checkCancellation()
        guard queue.isReachable else { throw Self.offline }
        let joins = isRunning
        if !joins { begin { await $0.round(trigger).map { $0 } } }
        let report = try await wait { $0.add($1, joins: joins, $2) }
        guard let report else { preconditionFailure("A round ends with a report or an error.") }
        return report
    }

    /// Runs something that must not meet a round, once nothing else runs, and then what was asked for
    /// meanwhile.
    func alone<Value: Sendable>(
        _ body: @escaping @Sendable (isolated SyncEngine) async throws -> Value
    ) async throws -> Value {
        try checkGoesOn()
        while isRunning {
            try await wait { $0.add($1, whenIdle: $2) }
            try checkGoesOn()
        }
        try Task.checkCancellation()
        guard queue.isReachable else { throw Self.offline }
        let value = Locked<Value?>(nil)
        begin { engine in
            do {
                guard try await engine.takeTurn() else { throw Self.standby }
                let found = try await body(engine)
                value.withLock { $0 = found }
                return .success(nil)
            } catch {
                return .failure(engine.reported(error))
            }
        }
        _ = try await wait { $0.add($1, joins: false, $2) }
        guard let value = value.withLock({ $0 }) else {
            preconditionFailure("What succeeded has a value.")
        }
        return value
    }

    /// Runs something on behalf of the calls that are going to wait for it, in a task of the engine's
    /// own: they can be let go while it waits for the service.
    private func begin(
        _ body:
            @escaping @Sendable (isolated SyncEngine) async -> Result<SyncReport?, any Error>
    ) {
        work = Task {
            let result = await body(self)
            waiters.serve(result)
            ended()
        }
    }

    /// Serves the calls that came meanwhile, or lets the next trigger have its turn.
    private func ended() {
        work = nil
        guard !isStopped else { return letGo() }
        if waiters.hasJoined {
            waiters.beginServing()
            if queue.isReachable { return begin { await $0.round(.manual).map { $0 } } }
            waiters.serve(.failure(Self.offline))
        }
        queue.ended(
            nowMilliseconds: configuration.clock.milliseconds, polls: isStarted && status == .idle)
        if !queue.isReachable { setStatus(.offline) }
        arm()
        waiters.wakeIdle()
    }

    /// Waits until somebody resumes the continuation, or the task is cancelled.
    func wait<Value: Sendable>(
        _ add: (inout Waiters, Int, CheckedContinuation<Value, any Error>) -> Void
    ) async throws -> Value {
        let number = waiters.number()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(&waiters, number, continuation)
                if Task.isCancelled { cancelWait(number) }
            }
        } onCancel: {
            Task { await self.cancelWait(number) }
        }
    }

    /// Lets a call go. What runs for that call alone ends early; a started engine goes on.
    private func cancelWait(_ number: Int) {
        if waiters.isOnlyServed(number), !isStarted { work?.cancel() }
        waiters.cancel(number)
    }

    /// Returns once nothing runs, also in an engine that was stopped. For tests.
    package func untilEnded() async {
        while let work { await work.value }
    }

    /// - Throws: if no further request is to begin.
    func checkCalled() throws {
        try checkGoesOn()
        try Task.checkCancellation()
    }

    private func round(_ trigger: SyncTrigger) async -> Result<SyncReport, any Error> {
        report = SyncReport(trigger: trigger, changes: ChangeSet())
        let covered = queue.next
        queue.began()
        disarm()
        rounds += 1
        defer { wakeOperationWaiters() }
        do {
            try checkConfiguration()
            guard try await takeTurn() else { return .failure(standBy()) }
            try restoreDeadline()
            hub.send(.started(trigger))
            let outcome = try await performWhole()
            if case .backOff = outcome { try checkCalled() }
            guard let error = await conclude(outcome) else {
                hub.send(.finished(report))
                waiters.completed(round: rounds)
                return .success(report)
            }
            hub.send(.failed(error))
            return .failure(error)
        } catch {
            machine = SyncMachine(limits: machine.limits, isAtomic: configuration.atomicRequests)
            return .failure(await conclude(error, covered))
        }
    }

    /// Performs a round; from the start if the application began anew meanwhile.
    private func performWhole() async throws -> RoundOutcome {
        do {
            return try await perform()
        } catch let outdated as SyncBasis.Outdated {
            machine = SyncMachine(limits: machine.limits, isAtomic: configuration.atomicRequests)
            guard !isStopped, try await takeTurn() else { throw outdated }
        }
        return try await perform()
    }

    /// Turns what ended a round early into status, retry and error.
    private func conclude(_ error: any Error, _ covered: TriggerQueue.Entry?) async -> any Error {
        if isStopped { return reported(error) }
        switch error {
        case is SyncBasis.Outdated:
            turn = nil
            return standBy()
        case is CancellationError:
            setStatus(.idle)
            if let covered { queue.add(covered.trigger, atMilliseconds: covered.dueMilliseconds) }
            hub.send(.failed(Self.cancelled))
            return error
        case let error as StoreError where error.code == .closed:
            return reported(error)
        default:
            var failure = error as? SyncError
            if failure == nil {
                let due = await retry(after: ServiceError(.serviceUnavailable))
                let isFull = (error as? StoreError)?.code == .full
                failure = SyncError(
                    isFull ? .storeFull : .store,
                    "The store failed, and the round was ended: \(error)",
                    retryMilliseconds: due)
            }
            let reported = failure ?? Self.stopped
            hub.send(.failed(reported))
            return reported
        }
    }

    /// What a call throws for an error. An engine whose store was closed ends: nothing that it could do
    /// would open it.
    private func reported(_ error: any Error) -> any Error {
        if let ending { return ending }
        if (error as? StoreError)?.code == .closed {
            hub.send(.failed(Self.closed))
            end(Self.closed)
            return Self.closed
        }
        if error is SyncBasis.Outdated { return Self.standby }
        return (error as? ServiceError).map(Self.refused) ?? error
    }

    // MARK: The turn

    /// Takes the engine's turn if it has none, and looks at what the next requests are made from.
    ///
    /// - Returns: whether this engine may exchange.
    private func takeTurn() async throws -> Bool {
        if turn == nil {
            basis = nil
            turn = try store.takeSyncTurn()
        }
        guard turn != nil else { return false }
        do {
            try await base(on: zoneName)
            return true
        } catch is SyncBasis.Outdated where !isStopped {
            self.turn = nil
            return false
        }
    }

    /// Makes the next requests from what the store has of a zone.
    ///
    /// - Throws: `SyncBasis.Outdated` if the engine's turn is over.
    func base(on zone: String) async throws {
        guard let turn else { throw SyncBasis.Outdated() }
        basis = try await store.syncBasis(of: turn, zone: zone, after: basis)
    }

    /// Stores what a reply told, or what was decided from it, if the store is still the one that
    /// the request was made from. Everything that rounds store goes this way.
    ///
    /// - Throws: `SyncBasis.Outdated` if it is not, and nothing was stored.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (LogWriter) throws -> Result
    ) async throws -> Result {
        guard let basis else { throw SyncBasis.Outdated() }
        let (result, next) = try await store.write(from: basis, body)
        self.basis = next
        return result
    }

    static let standby = SyncError(
        .standby,
        "Another engine synchronises the store. What is saved here is pushed by it; stop it to let "
            + "this one take over.")

    /// Waits for the end of whoever synchronises the store.
    private func standBy() -> SyncError {
        setStatus(.standby)
        var due: Int64?
        if isStarted {
            let next = configuration.clock.milliseconds + configuration.standbyMilliseconds
            queue.add(.start, atMilliseconds: next)
            due = next
        }
        return SyncError(.standby, Self.standby.message, retryMilliseconds: due)
    }

    /// Turns the end of a round into status, retry and error.
    private func conclude(_ outcome: RoundOutcome) async -> SyncError? {
        if let ending { return ending }
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
