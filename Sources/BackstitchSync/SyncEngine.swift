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
    nonisolated let hub: EventHub
    nonisolated let clock: any StoreClock
    private nonisolated let shownStatus = Locked(SyncStatus.idle)

    /// Decides what is done.
    private(set) var machine: EngineMachine
    /// What the exchange that runs has read and done.
    var progress = ExchangeProgress(.manual)
    let largestPass = Locked(0)
    /// The bytes of memory that the largest pass so far took, roughly.
    package nonisolated var passBytes: Int { largestPass.withLock { $0 } }
    let inFlight = Locked<Set<String>>([])
    /// Whether what a selection held back was put in front of the outbox again.
    let hasLookedBack = Locked(false)
    /// The zone that the records were moved to by this engine; nil if they were not.
    nonisolated let movedTo = Locked<String?>(nil)

    private var calls: [EngineMachine.CallID: Call] = [:]
    private var lastCall: EngineMachine.CallID = 0
    /// The engine's right to exchange; held until its last request has ended.
    private var turn: SyncTurn?
    /// What the next request is made from.
    private var basis: SyncBasis?
    /// Takes the steps of a round. It keeps the engine until it has ended.
    private var work: (round: Round.ID, task: Task<Void, Never>)?
    private var listener: Task<Void, Never>?
    private var timer: Task<Void, Never>?

    /// When the engine goes on by itself; nil if nothing makes it.
    package var nextAttemptMilliseconds: Int64? { machine.timerMilliseconds }

    /// An engine for a store and a service; it does nothing until it is asked to.
    public init(
        store: Store, service: any RecordService, configuration: SyncConfiguration
    ) {
        self.store = store
        self.service = service
        self.configuration = configuration
        clock = configuration.clock ?? store.configuration.clock
        hub = EventHub(monitor: store.configuration.monitor, clock: clock)
        machine = EngineMachine(configuration)
    }

    deinit {
        listener?.cancel()
        timer?.cancel()
        hub.finish()
    }

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
    public nonisolated var status: SyncStatus { shownStatus.withLock { $0 } }

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
        hand(.start)
        do {
            let retry = try storedRetry()
            _ = try await ask { .begin($0, retry) }
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
        guard case .report(let report) = try await ask({ .sync($0) }) else {
            preconditionFailure("A round ends with a report or an error.")
        }
        return report
    }

    /// Ends the engine, and every call that waits for it with `stopped`: no further request begins.
    ///
    /// Returns at once, also while the service does not answer. A request that is under way is told to
    /// end and let go: what is answered to it is not stored, and the next engine finds out what it did.
    public func stop() { hand(.stop) }

    /// - Throws: why the engine has ended, if it has.
    func checkGoesOn() throws {
        if let ending = machine.ending { throw ending }
    }

    /// - Throws: if no further request is to begin.
    func checkCalled() throws {
        try checkGoesOn()
        try Task.checkCancellation()
    }

    // MARK: Calls

    /// Hands in what a call asks for, and waits for the answer.
    func ask(
        _ event: (EngineMachine.CallID) -> EngineMachine.Event
    ) async throws -> Call.Value {
        try checkCalled()
        lastCall += 1
        let (number, call) = (lastCall, Call())
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
    func request(_ request: EngineRequest) async throws -> Call.Value {
        try await ask { .request(request, $0) }
    }

    /// What a call throws for an error. An engine whose store was closed ends: nothing that it could do
    /// would open it.
    private func reported(_ error: any Error) -> any Error {
        let failure = EngineMachine.Failure(error)
        if failure.kind == .storeClosed { hand(.storeClosed) }
        return machine.ending ?? failure.ofRequest.error
    }

    // MARK: The machine

    /// Hands an event to the machine, and performs what it decides.
    ///
    /// - Returns: The next step of the round that handed in the reply to a step, if it has one.
    @discardableResult
    func hand(_ event: EngineMachine.Event) -> Round.Step? {
        let clock = clock
        let actions = machine.handle(event, now: clock.milliseconds, random: clock.random)
        let status = machine.status
        shownStatus.withLock { $0 = status }
        var next: Round.Step?
        for action in actions {
            switch action {
            case .perform(let round, let step) where work?.round == round: next = step
            case .perform(let round, let step): begin(round, step)
            case .cancel(let round): if work?.round == round { work?.task.cancel() }
            case .answer(let numbers, let answer):
                let result = result(answer)
                for number in numbers { calls[number]?.end(result) }
            case .tell(let notice): hub.send(told(notice))
            case .setTimer(let due): setTimer(dueMilliseconds: due)
            case .endTimer: endTimer()
            case .listen: listenToWrites()
            case .lookAtOperations: lookAtOperations()
            case .endLease: turn?.end()
            case .giveBackLease: (basis, turn) = (nil, nil)
            case .endListening: listener?.cancel()
            case .endEvents: hub.finish()
            }
        }
        return next
    }

    private func result(_ answer: EngineMachine.Answer) -> Result<Call.Value, any Error> {
        switch answer {
        case .done: .success(.done)
        case .report: .success(.report(progress.report))
        case .count(let count): .success(.count(count))
        case .progress(let progress): .success(.progress(progress))
        case .failed(let failure): .failure(failure.error)
        }
    }

    private func told(_ notice: EngineMachine.Notice) -> SyncEngineEvent {
        switch notice {
        case .started(let trigger): .started(trigger)
        case .finished: .finished(progress.report)
        case .failed(let error): .failed(error)
        }
    }

    /// Takes the steps of a round in a task of the engine's own, so that calls can be let go while it
    /// waits for the service.
    private func begin(_ round: Round.ID, _ first: Round.Step) {
        let task = Task {
            var next: Round.Step? = first
            while let step = next { next = hand(.replied(round, await perform(step))) }
            // The memory of what was read is given back.
            progress = progress.begunAgain
            if work?.round == round { work = nil }
        }
        work = (round, task)
    }

    /// Returns once nothing runs, also in an engine that was stopped. For tests.
    package func untilEnded() async {
        while let work { await work.task.value }
    }

    /// Tells the calls that wait for operations which of them are not pending any more.
    func lookAtOperations() {
        for (call, sequence) in machine.operations {
            do {
                let progress = try store.read { try $0.reader.progress(ofOperation: sequence) }
                if progress != .pending { hand(.operationEnded(call, .progress(progress))) }
            } catch {
                hand(.operationEnded(call, .failed(EngineMachine.Failure(error))))
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
        let clock = clock
        let wait = max(0, due - clock.milliseconds)
        timer = Task { [weak self] in
            do {
                try await clock.sleep(milliseconds: wait)
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

    // MARK: The turn

    /// Takes the engine's turn if it has none, and looks at what the next requests are made from.
    ///
    /// - Returns: whether this engine may exchange.
    func takeTurn() async throws -> Bool {
        if turn == nil {
            basis = nil
            turn = try store.takeSyncTurn()
        }
        guard turn != nil else { return false }
        do {
            try await base(on: zoneName)
            return true
        } catch is SyncBasis.Outdated {
            turn = nil
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
}

/// What an exchange has read and done so far.
struct ExchangeProgress {
    var report: SyncReport
    /// What was folded for the running pass.
    var outbox = Outbox()
    /// Records of which only the first edits were refused, because the rest was behind the fold or came
    /// meanwhile. They are pushed with all of them next.
    var wholes: Set<RecordPlace> = []
    /// The positions in the outbox of the items that the machine knows.
    var pushed: [PendingChange] = []
    /// What is to be looked up before the next fold, by the places that the machine knows.
    var missed: [MissedRecord] = []
    /// What was listed to be looked up, which is done once.
    var lookedUp: Set<MissedRecord> = []
    /// Where the run of the log begins that is folded.
    var foldStart: UInt64 = 0
    /// Whether the service told that the zone changed.
    var isZoneChanged = false
    /// How many records there are to push; nil before that is known.
    var pushTotal: Int?

    init(_ trigger: SyncTrigger) {
        report = SyncReport(trigger: trigger, changes: ChangeSet())
    }

    /// The same report, and nothing read.
    var begunAgain: ExchangeProgress {
        var begun = ExchangeProgress(report.trigger)
        begun.report = report
        return begun
    }
}
