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
/// One engine per store exchanges at a time, across all processes: the first that runs a round
/// keeps its lease until it is stopped or released, its store is closed, or its process ends. The
/// others stand by; the engine that has the lease synchronises what is saved in their processes too.
/// After ``stop()`` another engine on the same `Store` object continues at once, and one in another
/// process after the current request has ended. The reply to that request is not stored. Rounds run
/// one after another; a trigger during a round leads to another round.
public actor SyncEngine {
    /// The store whose records are exchanged.
    public nonisolated var store: Store { scope.store }
    /// How the engine works.
    public nonisolated var configuration: SyncConfiguration { scope.configuration }
    nonisolated let scope: EngineContext

    /// Decides what is done.
    private(set) var machine: EngineMachine
    /// Does what the machine decides for rounds.
    let rounds: RoundExecutor
    /// Transfers files, beside the rounds.
    nonisolated let queue: TransferQueue
    /// The bytes of memory that the largest pass so far took, roughly.
    package nonisolated var passBytes: Int { scope.largestPass.withLock { $0 } }

    private var calls: [EngineMachine.CallID: PendingCall] = [:]
    private var lastCall: EngineMachine.CallID = 0
    /// Takes the steps of a round. It keeps the engine until it has ended.
    private var work: (round: Round.ID, task: Task<Void, Never>)?
    /// Whether a round runs, or its last request after ``stop()``; transfers go beside it. For tests.
    package var isInRound: Bool { work != nil }
    private var listener: Task<Void, Never>?
    private var timer: Task<Void, Never>?

    /// When the engine goes on by itself; nil if nothing makes it.
    package var nextAttemptMilliseconds: Int64? { machine.timerMilliseconds }

    /// An engine for a store and a service; it does nothing until it is asked to.
    public init(store: Store, service: any RecordService, configuration: SyncConfiguration) {
        scope = EngineContext(store: store, configuration: configuration)
        let service = MonitoredService(service, scope)
        rounds = RoundExecutor(SyncSession(scope, service))
        machine = EngineMachine(configuration)
        queue = TransferQueue(scope, service)
        store.assets.setProvider(queue)
        queue.uploaded.set { [weak self] in Task { await self?.hand(.triggered(.save)) } }
    }

    deinit {
        listener?.cancel()
        timer?.cancel()
        scope.events.finish()
    }

    /// The name of the zone that the engine exchanges with: the configuration's, or the one that
    /// ``move(to:adoptsUser:)`` named since.
    public nonisolated var zoneName: String { scope.zoneName }

    /// The current activity of the engine.
    public nonisolated var status: SyncStatus { scope.status.withLock { $0 } }

    /// The events from now on. Each call returns a new stream.
    public nonisolated var events: SyncEngineEvent.Stream { scope.events.stream() }

    // MARK: Rounds on call

    /// Runs a first round, then follows its triggers and retries until ``stop()``: local writes, the
    /// timer, ``handle(notification:)`` and ``connectivityChanged(isReachable:)``.
    ///
    /// This does not throw if the service can't be reached, the disk is full, or another engine
    /// synchronises the store: the engine keeps trying and reports by ``events``, and takes over
    /// when the other engine ends. If the wait after an earlier run's failure is not over, the
    /// first round begins after it. An engine whose store is closed ends, as by ``stop()``.
    /// - Throws: `invalidConfiguration` if the configuration can't work with the store, which no
    ///   later try changes; `store` if the store failed; `stopped` after ``stop()``, and if the
    ///   store was closed; `CancellationError` if the task is cancelled: the engine then continues
    ///   by itself.
    public func start() async throws {
        try checkGoesOn()
        do {
            try scope.checkConfiguration()
        } catch {
            throw reported(error)
        }
        hand(.start)
        do {
            let retry = try store.read { try $0.reader.zoneState(scope.own) }.retry
            _ = try await ask { .begin($0, retry) }
        } catch let error as SyncError where error.code != .store && error.code != .stopped {
            // Reported as an event; the engine goes on by itself.
        } catch {
            throw reported(error)
        }
    }

    /// Runs one full round now, or joins the next one if one is under way. Files that records wait
    /// for are uploaded then, another round pushes the records, and external values are downloaded.
    ///
    /// The round begins at once, even if a failed one asked to wait.
    ///
    /// Cancel the task to give up: the call returns at once, also while the service does not answer.
    /// A request that is under way is cancelled. Its effect is known when it has ended, or after the next
    /// round; until then no other request begins. The round then ends early, unless the engine was started
    /// and would run it anyway.
    /// - Returns: a report of the round.
    /// - Throws: ``SyncError`` if it ended early; what was not exchanged stays pending. `offline`
    ///   while the application says that there is no network, `standby` while another engine
    ///   synchronises the store, `stopped` after ``stop()``; `CancellationError`.
    @discardableResult
    public func sync() async throws -> SyncReport {
        try await queue.exchange { try await self.round() }
    }

    /// Downloads all files that are not here, and returns how many came. Throws ``SyncError`` if one did not.
    @discardableResult
    public func downloadFiles() async throws -> Int { try await queue.download(by: .always) }

    private func round() async throws -> SyncReport {
        guard case .report(let report) = try await ask({ .sync($0) }) else {
            preconditionFailure("A round ends with a report or an error.")
        }
        return report
    }

    /// Ends the engine, and every call that waits for it with `stopped`: no further request begins.
    ///
    /// Returns at once, also while the service does not answer. A request that is under way is cancelled,
    /// and its answer is not stored; the next engine finds out its effect.
    public func stop() { hand(.stop) }

    /// - Throws: why the engine has ended, if it has.
    func checkGoesOn() throws {
        if let ending = machine.ending { throw ending }
    }

    // MARK: Calls

    /// Hands in what a call asks for, and waits for the answer.
    func ask(
        _ event: (EngineMachine.CallID) -> EngineMachine.Event
    ) async throws -> PendingCall.Value {
        try checkGoesOn()
        try Task.checkCancellation()
        lastCall += 1
        let (number, call) = (lastCall, PendingCall())
        calls[number] = call
        defer { calls[number] = nil }
        hand(event(number))
        do {
            return try await call.value()
        } catch let error as CancellationError {
            hand(.cancelled(number))
            throw error
        }
    }

    /// Runs something that must not meet a round, once nothing else runs.
    @discardableResult
    func request(_ request: EngineRequest) async throws -> PendingCall.Value {
        try await ask { .request(request, $0) }
    }

    /// What a call throws for an error. An engine whose store was closed ends: nothing that it could do
    /// would open it.
    private func reported(_ error: any Error) -> any Error {
        let failure = StepFailure(error)
        if failure.kind == .storeClosed { hand(.storeClosed) }
        return machine.ending ?? failure.ofRequest.error
    }

    // MARK: The machine

    /// Hands an event to the machine, and performs what it decides.
    ///
    /// - Returns: The next step of the round that handed in the reply to a step, if it has one.
    @discardableResult
    func hand(_ event: EngineMachine.Event) -> Round.Step? {
        let clock = scope.clock
        let actions = machine.handle(event, now: clock.milliseconds, random: clock.random)
        scope.show(machine, nextAttempt: nextAttemptMilliseconds)
        var next: Round.Step?
        for action in actions {
            switch action {
            case .perform(let round, let step) where work?.round == round: next = step
            case .perform(let round, let step): begin(round, step)
            case .cancel(let round): if work?.round == round { work?.task.cancel() }
            case .answer(let numbers, let answer):
                for number in numbers { calls[number]?.end(answer, rounds.report.value) }
            case .tell(let notice):
                scope.tell(SyncEngineEvent(notice, rounds.report.value))
                if notice == .finished { queue.goOn(after: rounds.report.value, machine.mode) }
            case .setTimer(let due): setTimer(dueMilliseconds: due)
            case .endTimer: endTimer()
            case .listen: listenToWrites()
            case .lookAtOperations: lookAtOperations()
            case .endLease:
                rounds.session.endLease(machine.ending)
                Task { [queue] in await queue.stop() }
            case .giveBackLease: rounds.session.giveBackLease()
            case .endListening: listener?.cancel()
            case .endEvents: scope.events.finish()
            }
        }
        return next
    }

    /// Takes the steps of a round in a task of the engine's own, so that calls can be let go while it
    /// waits for the service.
    private func begin(_ round: Round.ID, _ first: Round.Step) {
        let task = Task {
            var next: Round.Step? = first
            while let step = next { next = hand(.replied(round, await perform(step))) }
            if let due = rounds.dueMilliseconds { hand(.scheduled(dueMilliseconds: due)) }
            rounds.beginAgain()
            if work?.round == round { work = nil }
        }
        work = (round, task)
    }

    private func perform(_ step: Round.Step) async -> Round.Reply {
        guard let round = machine.round else {
            return .failed(StepFailure(machine.ending ?? .stopped))
        }
        let reply = await rounds.perform(step, of: round, machine.zones)
        if case .exchanged = reply { lookAtOperations() }
        return reply
    }

    /// Returns once nothing runs, also in an engine that was stopped. For tests.
    package func untilEnded() async {
        while let work { await work.task.value }
        await queue.untilEnded()
    }

    /// Tells the calls that wait for operations which of them are not pending any more.
    private func lookAtOperations() {
        for (call, sequence) in machine.operations {
            do {
                let progress = try store.read { try OperationProgress(of: sequence, $0.reader) }
                if progress != .pending { hand(.operationEnded(call, .progress(progress))) }
            } catch {
                hand(.operationEnded(call, .failed(StepFailure(error))))
            }
        }
    }

    // MARK: Triggers

    private func listenToWrites() {
        guard configuration.syncOnSave else { return }
        let changes = store.changes()
        listener = Task { [weak self] in
            for await change in changes where change.origins.contains(.local) {
                await self?.hand(.triggered(.save))
            }
        }
    }

    private func setTimer(dueMilliseconds due: Int64) {
        endTimer()
        let clock = scope.clock
        let wait = max(0, due - clock.milliseconds)
        timer = Task { [weak self] in
            do {
                try await clock.sleep(for: .milliseconds(wait))
            } catch {
                return
            }
            await self?.hand(.timer(dueMilliseconds: due))
        }
    }

    private func endTimer() {
        timer?.cancel()
        timer = nil
    }
}
