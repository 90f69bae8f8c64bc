import BackstitchCore
import BackstitchStore

/// Decides what a sync engine does: when a round begins, what its steps are, what status it shows, and
/// which calls are answered.
///
/// An event goes in, and the actions come out that ``SyncEngine`` has to perform; there is no clock,
/// store, network or task in here. What runs is a ``Round``: an exchange, or a request of the
/// application that must not meet one. It takes its steps one after another, each when the reply to the
/// one before has come, and both kinds take the lease first.
///
/// Invariants, which ``checkInvariants()`` checks: at most one round runs. A call waits in one place, and is
/// answered once, or forgotten as its task was cancelled. A reply counts for the round that asked for
/// it, and for no other. After the engine has ended, nothing is performed but giving back the lease.
struct EngineMachine: Equatable, Sendable {
    /// A call of the application that waits, by its number.
    typealias CallID = Int

    enum State: Equatable, Sendable {
        case resting
        case running(Round)
        /// Ended, and why. The lease is kept until the reply to the unfinished round has come.
        case stopped(SyncError, unfinished: Round.ID?)
    }

    /// What makes rounds begin.
    enum Mode: Equatable, Sendable {
        /// Calls, and what the application tells.
        case onDemand
        /// Also saves, time, and failures that are tried again.
        case automatic
    }

    /// Whether the signed-in user was compared with the store's.
    enum Account: Equatable, Sendable {
        case unchecked
        /// A request for it is under way; news of the account that come now count.
        case checking
        case checked
    }

    private let standbyMilliseconds: Int64
    private let blockedRetryMilliseconds: Int64
    private(set) var state = State.resting
    private(set) var rest = RestState.idle
    private(set) var mode = Mode.onDemand
    private(set) var account = Account.unchecked {
        didSet { zones.isAccountChecked = account == .checked }
    }
    private(set) var queue: TriggerQueue
    /// The rounds that began.
    private(set) var rounds: Round.ID = 0
    /// The calls for which nothing runs yet.
    private(set) var waiting = WaitingCalls()
    /// When the timer ends that was asked for; nil if there is none.
    private(set) var timerMilliseconds: Int64?
    /// Which zone is exchanged, and what is done for it.
    private(set) var zones: ZoneQueue
    private var actions: [Action] = []

    init(_ configuration: SyncConfiguration) {
        standbyMilliseconds = configuration.standbyMilliseconds
        blockedRetryMilliseconds = configuration.blockedRetryMilliseconds
        queue = TriggerQueue(
            debounceMilliseconds: configuration.debounceMilliseconds,
            pollMilliseconds: configuration.pollMilliseconds)
        zones = ZoneQueue(isAtomic: configuration.atomicRequests)
    }

    // MARK: What it shows

    var status: SyncStatus {
        switch state {
        case .stopped: .stopped
        case .running(let round): round.activity ?? rest.status
        case .resting: queue.isReachable ? rest.status : .offline
        }
    }

    /// Why the engine has ended; nil while it goes on.
    var ending: SyncError? {
        if case .stopped(let error, _) = state { error } else { nil }
    }

    /// What runs.
    var round: Round? {
        if case .running(let round) = state { round } else { nil }
    }

    /// The operations that calls wait for.
    var operations: [CallID: UInt64] { waiting.operations }

    // MARK: Events

    /// Takes an event.
    ///
    /// - Parameters:
    ///   - now: The time in milliseconds since 1970.
    ///   - random: Gives a number from 0 up to 1, if a wait is to be spread.
    /// - Returns: What is to be performed, in this order.
    mutating func handle(_ event: Event, now: Int64, random: () -> Double) -> [Action] {
        if case .stopped(let ending, let unfinished) = state {
            return Self.handleStopped(event, &state, ending, unfinished)
        }
        switch event {
        case .start:
            if mode == .onDemand { actions.append(.listen) }
            mode = .automatic
        case .begin(let call, let retry):
            restore(retry, now: now)
            begin(for: call, now: now)
        case .sync(let call):
            ask(.exchange(.manual), for: call)
        case .request(let request, let call):
            ask(.request(request), for: call)
        case .catchUp(let call) where mode == .onDemand:
            ask(.exchange(.manual), for: call)
        case .catchUp(let call):
            waiting.wait(call, for: .round(rounds + 1))
            queue.add(.manual, nowMilliseconds: now)
        case .waitForOperation(let sequence, let call):
            waiting.wait(call, for: .operation(sequence))
        case .operationEnded(let call, let answer):
            if waiting.endWait(call) { self.answer([call], answer) }
        case .cancelled(let call):
            forget(call)
        case .triggered(let trigger):
            queue.add(trigger, nowMilliseconds: now)
        case .accountChanged:
            account = .unchecked
            queue.add(.start, nowMilliseconds: now)
        case .reachable(let isReachable):
            _ = queue.setReachable(isReachable, nowMilliseconds: now)
        case .resumed: rest = .idle
        case .timer(let due):
            fire(dueMilliseconds: due)
        case .scheduled(let due):
            if case .resting = state, rest == .idle { _ = goOn(.retry, atMilliseconds: due) }
        case .replied(let id, let reply):
            replied(id, reply, now: now, random: random)
        case .stop: stop(.stopped)
        case .storeClosed: closeStore()
        }
        setTimer()
        checkInvariants()
        defer { actions = [] }
        return actions
    }

    /// Nothing is performed any more but giving back the lease when the last request has ended.
    private static func handleStopped(
        _ event: Event, _ state: inout State, _ ending: SyncError, _ unfinished: Round.ID?
    ) -> [Action] {
        if let call = event.call { return [.answer([call], .failed(StepFailure(ending)))] }
        guard case .replied(let id, _) = event, id == unfinished else { return [] }
        state = .stopped(ending, unfinished: nil)
        return [.giveBackLease]
    }

    // MARK: Calls

    /// Begins the first round of an engine that was started, or waits for the time that a failure before
    /// asked for.
    private mutating func begin(for call: CallID, now: Int64) {
        guard case .resting = state, let deadline = queue.deadline,
            deadline.dueMilliseconds > now
        else { return ask(.exchange(.start), for: call) }
        queue.add(.start, nowMilliseconds: now)
        rest = .waiting(untilMilliseconds: deadline.dueMilliseconds)
        answer([call], .done)
    }

    /// Runs something for a call, now or when what runs has ended.
    private mutating func ask(_ purpose: Round.Purpose, for call: CallID) {
        guard queue.isReachable else {
            return answer([call], .failed(StepFailure(SyncError.offline)))
        }
        if case .resting = state { return begin(purpose, for: [call]) }
        waiting.ask(purpose, for: call)
    }

    /// Lets a call go whose task was cancelled. What runs for that call alone ends early; what an
    /// automatic engine runs goes on.
    private mutating func forget(_ call: CallID) {
        waiting.remove(call)
        guard case .running(var round) = state, round.calls.remove(call) != nil else { return }
        if round.calls.isEmpty, mode == .onDemand {
            round.isCancelled = true
            actions.append(.cancel(round.id))
        }
        state = .running(round)
    }

    private mutating func answer(_ calls: Set<CallID>, _ answer: Answer) {
        if !calls.isEmpty { actions.append(.answer(calls.sorted(), answer)) }
    }

    // MARK: Rounds

    private mutating func begin(_ purpose: Round.Purpose, for calls: Set<CallID>) {
        rounds += 1
        var round = Round(id: rounds, purpose: purpose, calls: calls)
        if purpose.isExchange {
            round.covered = queue.next
            queue.began()
        }
        go(&round, purpose.isExchange ? .checkConfiguration : .takeLease)
    }

    private mutating func fire(dueMilliseconds due: Int64) {
        // A timer that was replaced may have slept through its cancellation.
        guard case .resting = state, timerMilliseconds == due, let next = queue.next else { return }
        timerMilliseconds = nil
        begin(.exchange(next.trigger), for: [])
    }

    /// Lets a round take its next step.
    private mutating func go(_ round: inout Round, _ step: Round.Step) {
        round.step = step
        state = .running(round)
        actions.append(.perform(round.id, step))
    }

    private mutating func replied(
        _ id: Round.ID, _ reply: Round.Reply, now: Int64, random: () -> Double
    ) {
        guard case .running(var round) = state, round.id == id else { return }
        // The round is held once, so that nothing of it is copied when it changes.
        state = .resting
        if case .failed(let failure) = reply {
            return failed(&round, failure, now: now, random: random)
        }
        if round.isCancelled, round.step.isPreparation { return cancelled(round, now: now) }
        switch (round.step, reply) {
        case (.checkConfiguration, .done):
            go(&round, .takeLease)
        case (.takeLease, .leaseRefused):
            standBy(round, now: now)
        case (.takeLease, .lease(let retry)):
            restore(retry, now: now)
            if rest == .standby { rest = .idle }
            leaseTaken(&round)
        case (.settleZone, .done):
            go(&round, .finishReset)
        case (.finishReset, .done):
            go(&round, .prepare)
        case (.prepare, .prepared(let prepared)):
            let first = zones.begin(prepared, by: round.purpose.trigger ?? .manual, now: now)
            proceed(&round, first, now: now, random: random)
        case (.exchange(let slot, let action), .exchanged(let event, let changed)):
            if action == .setUp, event == .done, account == .checking { account = .checked }
            let next = zones.handle(event, of: slot, changed: changed)
            proceed(&round, next, now: now, random: random)
        case (.request(let request), .answered(let answer)):
            if request == .destroyZone { rest = .suspended(.zoneDeletedByUser) }
            end(round, answer, now: now)
        case (.storeRetry(_, _, let conclusion), .done):
            zoneEnded(&round, conclusion, now: now, random: random)
        default:
            // No reply to what was asked.
            state = .running(round)
        }
    }

    private mutating func leaseTaken(_ round: inout Round) {
        switch round.purpose {
        case .exchange(let trigger):
            if !round.isRepeated { actions.append(.tell(.started(trigger))) }
            go(&round, .settleZone)
        case .request(let request):
            go(&round, .request(request))
        }
    }

    /// Takes a step of an exchange, as the zones' queue decides.
    private mutating func proceed(
        _ round: inout Round, _ next: ZoneQueue.Step, now: Int64, random: () -> Double
    ) {
        switch next {
        case .ended(_, .backOff) where round.isCancelled:
            return cancelled(round, now: now)
        case .ended(let slot, let outcome):
            return conclude(&round, slot, outcome, now: now, random: random)
        case .done:
            return end(
                round, with: round.failure.map(Round.Conclusion.failed) ?? .completed, now: now)
        case .exchange(let slot, let action):
            switch action {
            // What a request told is stored, also if no call waits for it any more.
            case .apply: break
            case _ where round.isCancelled: return cancelled(round, now: now)
            case .setUp: account = .checking
            case .fetchDatabaseChanges, .fetchZoneChanges: round.activity = .pulling
            case .push: round.activity = .pushing
            default: break
            }
            go(&round, .exchange(slot, action))
        }
    }

    // MARK: Ends of rounds

    /// Concludes the exchange of a zone. The engine stands as the store's own one does.
    private mutating func conclude(
        _ round: inout Round, _ slot: UInt8, _ outcome: RoundOutcome, now: Int64,
        random: () -> Double
    ) {
        switch outcome {
        case .completed:
            if slot == 0 { rest = .idle }
            let isNews = zones.succeeded(slot)
            queue.setDeadline(zones.deadline)
            store(&round, slot, nil, isNews: isNews, .completed, now: now, random: random)
        case .backOff(let error):
            retry(&round, slot, after: error, now: now, random: random) {
                .unreachable(error, retryMilliseconds: $0)
            }
        case .blocked(let error):
            // Another user may be signed in when the next round begins.
            account = .unchecked
            if slot == 0 { rest = .blocked(error.code) }
            let wait = Backoff.askedMilliseconds(error) ?? blockedRetryMilliseconds
            let due = goOn(.retry, atMilliseconds: now + max(1, wait))
            let failure = SyncError.blocked(error, retryMilliseconds: due)
            zoneEnded(&round, .failed(failure), now: now, random: random)
        case .suspended(let code):
            if slot == 0 { rest = .suspended(code) }
            zoneEnded(&round, .failed(.suspended(code)), now: now, random: random)
        }
    }

    /// Lets the next zone have its turn, or ends the round.
    private mutating func zoneEnded(
        _ round: inout Round, _ conclusion: Round.Conclusion, now: Int64, random: () -> Double
    ) {
        if case .failed(let error) = conclusion, round.failure == nil { round.failure = error }
        proceed(&round, zones.next(), now: now, random: random)
    }

    private mutating func failed(
        _ round: inout Round, _ failure: StepFailure, now: Int64, random: () -> Double
    ) {
        if case .storeRetry(_, _, let conclusion) = round.step {
            // This engine knows the time; only one that is started before another failure would not
            // wait. The next round that ends well clears the rest.
            return zoneEnded(&round, conclusion, now: now, random: random)
        }
        if failure.kind == .storeClosed {
            // Its last step has ended, so that the lease is given back at once.
            return closeStore(answering: round.calls)
        }
        guard round.purpose.isExchange else {
            return end(round, .failed(failure.ofRequest), now: now)
        }
        switch (round.step, failure.kind) {
        case (.exchange(let slot, _), .service(let error)):
            let next = zones.handle(.failed(error), of: slot)
            proceed(&round, next, now: now, random: random)
        case (_, .service(let error)):
            conclude(&round, 0, RoundOutcome(before: error), now: now, random: random)
        case (_, .outdated) where !round.isRepeated:
            // The application began anew meanwhile, and so does the round.
            (round.isRepeated, round.failure) = (true, nil)
            zones.reset()
            go(&round, .takeLease)
        case (_, .outdated):
            actions.append(.giveBackLease)
            standBy(round, now: now)
        case (_, .cancelled):
            cancelled(round, now: now)
        case (_, .sync(let error)):
            end(round, with: .failed(error), now: now)
        case (_, .store(let isFull)):
            zones.stop()
            retry(&round, 0, after: ServiceError(.serviceUnavailable), now: now, random: random) {
                .storeFailed(failure, isFull: isFull, retryMilliseconds: $0)
            }
        case (_, .storeClosed):
            closeStore(answering: round.calls)
        }
    }

    /// Ends a round that no call waits for any more; what it was to cover is due again.
    private mutating func cancelled(_ round: Round, now: Int64) {
        if let covered = round.covered {
            queue.add(covered.trigger, atMilliseconds: covered.dueMilliseconds)
        }
        if round.purpose.isExchange { actions.append(.tell(.failed(.cancelled))) }
        end(round, .failed(StepFailure(CancellationError())), now: now)
    }

    /// Tries again later, because another engine synchronises the store.
    private mutating func standBy(_ round: Round, now: Int64) {
        rest = .standby
        let due = goOn(.start, atMilliseconds: now + standbyMilliseconds)
        end(round, .failed(StepFailure(SyncError.standby(retryMilliseconds: due))), now: now)
    }

    /// Waits longer than after the failure before, and remembers that in the store.
    private mutating func retry(
        _ round: inout Round, _ slot: UInt8, after error: ServiceError, now: Int64,
        random: () -> Double, _ told: (Int64?) -> SyncError
    ) {
        let (deadline, isNews) = zones.failed(error, of: slot, now: now, random: random())
        queue.setDeadline(zones.deadline)
        let due = deadline.dueMilliseconds
        if slot == 0 { rest = .waiting(untilMilliseconds: due) }
        let error = told(goOn(.retry, atMilliseconds: due))
        store(&round, slot, deadline, isNews: isNews, .failed(error), now: now, random: random)
    }

    /// Lets an automatic engine go on at a time.
    ///
    /// - Returns: When that is; nil if it does not by itself.
    private mutating func goOn(_ trigger: SyncTrigger, atMilliseconds due: Int64) -> Int64? {
        guard mode == .automatic else { return nil }
        queue.add(trigger, atMilliseconds: due)
        return due
    }

    private mutating func store(
        _ round: inout Round, _ slot: UInt8, _ deadline: RetryDeadline?, isNews: Bool,
        _ conclusion: Round.Conclusion, now: Int64, random: () -> Double
    ) {
        guard isNews else { return zoneEnded(&round, conclusion, now: now, random: random) }
        round.activity = nil
        go(&round, .storeRetry(slot, deadline, conclusion))
    }

    private mutating func end(_ round: Round, with conclusion: Round.Conclusion, now: Int64) {
        switch conclusion {
        case .completed:
            actions.append(.tell(.finished))
            answer(waiting.endRounds(through: round.id), .done)
            end(round, .report, now: now)
        case .failed(let error):
            actions.append(.tell(.failed(error)))
            end(round, .failed(StepFailure(error)), now: now)
        }
    }

    /// Answers a round's calls, and begins what was asked for meanwhile.
    private mutating func end(_ round: Round, _ answer: Answer, now: Int64) {
        zones.stop()
        if round.purpose.isExchange, let due = zones.leftOutMilliseconds {
            _ = goOn(.retry, atMilliseconds: due)
        }
        if !operations.isEmpty { actions.append(.lookAtOperations) }
        self.answer(round.calls, answer)
        state = .resting
        queue.ended(nowMilliseconds: now, polls: mode == .automatic && rest == .idle)
        while case .resting = state, let next = waiting.next() {
            if queue.isReachable {
                begin(next.purpose, for: next.calls)
            } else {
                self.answer(next.calls, .failed(StepFailure(SyncError.offline)))
            }
        }
    }

    // MARK: The end of the engine

    private mutating func closeStore(answering calls: Set<CallID> = []) {
        actions.append(.tell(.failed(.closed)))
        stop(.closed, answering: calls)
    }

    private mutating func stop(_ reason: SyncError, answering calls: Set<CallID> = []) {
        actions.append(.endLease)
        var calls = calls.union(waiting.removeAll())
        if case .running(let round) = state {
            calls.formUnion(round.calls)
            actions.append(.cancel(round.id))
            state = .stopped(reason, unfinished: round.id)
        } else {
            actions.append(.giveBackLease)
            state = .stopped(reason, unfinished: nil)
        }
        actions.append(.endListening)
        answer(calls, .failed(StepFailure(reason)))
        actions.append(.endEvents)
    }

    // MARK: Waiting

    /// Takes over what the store knows of failures before this engine was made.
    private mutating func restore(_ retry: RetryDeadline?, now: Int64) {
        zones.restore(retry, now: now)
        queue.setDeadline(zones.deadline)
    }

    /// Waits for the next round that is due, and for that alone.
    private mutating func setTimer() {
        let due: Int64? = if case .resting = state { queue.next?.dueMilliseconds } else { nil }
        guard due != timerMilliseconds else { return }
        timerMilliseconds = due
        actions.append(due.map(Action.setTimer) ?? .endTimer)
    }
}
