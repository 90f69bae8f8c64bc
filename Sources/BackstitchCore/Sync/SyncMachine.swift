/// Decides what a sync round does: set up, pull, push, and again until nothing is left.
///
/// An event goes in and the next action comes out; there is no clock, network or store in here.
///
/// Invariants: one of its requests is under way at a time, so no record is in flight twice. An item leaves
/// the queue by a decision only: acknowledged, merged or parked; whatever fails in another way stays
/// in the store's outbox. Every loop has a bound, so a round always ends.
package struct SyncMachine: Equatable, Sendable {
    /// The most times that the outbox is folded in one round.
    package static let passesMax = 64
    /// The most times that one item is sent in one pass.
    package static let attemptsMax = 8
    /// The most times that tokens are dropped or the zone is made anew in one round.
    package static let restartsMax = 4

    enum State: Equatable {
        case idle
        case settingUp
        case checkingDatabase
        case droppingDatabaseToken
        case pulling
        case beginningFullFetch
        case sweeping
        case forgetting
        case suspending(ServiceError.Code)
        case folding(continues: Bool)
        /// Looks up records that were missed; the last request is for these places.
        case lookingUpMissed(Range<Int>, of: Int, before: MissedPurpose)
        case pushing([Int])
        case lookingUp([Int])
        case applying
        case raisingFloor
    }

    var state = State.idle
    package internal(set) var limits: ServiceLimits
    var isAtomic: Bool
    /// The operations a request may have for now; halved when the service refuses its size.
    package internal(set) var batchCount: Int
    var needsPull = false
    /// Whether the list of the database's changes is read in this round; another zone had it read otherwise.
    private var checksDatabase = true
    var restarts = 0
    var push = PushState()

    /// A machine that has run no round.
    package init(limits: ServiceLimits = ServiceLimits(), isAtomic: Bool = false) {
        self.limits = limits
        self.isAtomic = isAtomic
        batchCount = max(1, limits.operationsPerRequest)
    }

    /// Whether a round is under way.
    package var isRunning: Bool { state != .idle }

    /// Gives up the round that is under way.
    package mutating func reset() { self = SyncMachine(limits: limits, isAtomic: isAtomic) }

    /// Takes over what the service says of its limits.
    package mutating func adopt(_ limits: ServiceLimits) {
        guard limits != self.limits else { return }
        self.limits = limits
        batchCount = max(1, limits.operationsPerRequest)
    }

    /// Takes an event and returns what to do next.
    package mutating func handle(_ event: SyncEvent) -> SyncAction {
        if case .failed(let error) = event { return failed(error) }
        switch (state, event) {
        case (.idle, .began(let isSetUp, let needsPull, let suspension, let checksDatabase)):
            self.checksDatabase = checksDatabase
            return begin(isSetUp: isSetUp, needsPull: needsPull, suspension: suspension)
        case (.settingUp, .done):
            needsPull = true
            return checkDatabase()
        case (.checkingDatabase, .databaseChanges(let changed, let ended, let moreComing)):
            return databaseChanged(changed, ended: ended, moreComing: moreComing)
        case (.droppingDatabaseToken, .done):
            // A list from the beginning does not name zones that are gone; a pull finds out.
            needsPull = true
            return checkDatabase()
        case (.pulling, .zoneChanges(let moreComing, let isFullFetch)):
            if moreComing { return pull() }
            return isFullFetch ? sweep() : fold()
        case (.beginningFullFetch, .done):
            return pull()
        case (.sweeping, .done):
            return fold()
        case (.sweeping, .missed(let count)):
            return lookUpMissed(from: 0, of: count, before: .sweep)
        case (.forgetting, .done):
            push = PushState()
            state = .settingUp
            return .setUp
        case (.suspending(let code), .done):
            return finish(.suspended(code))
        case (.folding, .folded(let items, let isComplete)):
            return folded(items, isComplete: isComplete)
        case (.folding(let continues), .missed(let count)):
            return lookUpMissed(from: 0, of: count, before: .fold(continues: continues))
        case (.lookingUpMissed(let places, let count, let purpose), .done):
            return lookUpMissed(
                from: places.upperBound, of: count, most: places.count, before: purpose)
        case (.pushing(let indexes), .pushed(let results)):
            return pushed(indexes, results)
        case (.lookingUp(let indexes), .lookedUp(let results)):
            return lookedUp(indexes, results)
        case (.applying, .done):
            return nextBatch()
        case (.raisingFloor, .done):
            return raisedFloor()
        default:
            preconditionFailure("The event \(event) does not fit the state \(state).")
        }
    }

    // MARK: Set-up and pull

    private mutating func begin(
        isSetUp: Bool, needsPull: Bool, suspension: ServiceError.Code?
    ) -> SyncAction {
        restarts = 0
        push = PushState()
        self.needsPull = needsPull
        if let suspension { return finish(.suspended(suspension)) }
        guard isSetUp else {
            state = .settingUp
            return .setUp
        }
        return checkDatabase()
    }

    private mutating func checkDatabase() -> SyncAction {
        guard checksDatabase else { return needsPull ? pull() : fold() }
        state = .checkingDatabase
        return .fetchDatabaseChanges
    }

    private mutating func databaseChanged(
        _ changed: Bool, ended: ServiceError.Code?, moreComing: Bool
    ) -> SyncAction {
        if changed { needsPull = true }
        // The list of zones does not tell who deleted one; a request to the zone does.
        if ended == .zoneNotFound { needsPull = true }
        if let ended, ended != .zoneNotFound { return zoneEnded(ended) }
        if moreComing { return .fetchDatabaseChanges }
        return needsPull ? pull() : fold()
    }

    private mutating func pull() -> SyncAction {
        state = .pulling
        return .fetchZoneChanges
    }

    mutating func sweep() -> SyncAction {
        state = .sweeping
        return .sweep
    }

    mutating func fold(continues: Bool = false) -> SyncAction {
        needsPull = false
        // Two passes are never held at once.
        push.items = []
        push.passes += 1
        state = .folding(continues: continues)
        return .foldOutbox(continues: continues)
    }

    /// The zone is gone: what is known of it is of no use any more.
    private mutating func zoneEnded(_ code: ServiceError.Code) -> SyncAction {
        if code.retry == .after(.decision) {
            state = .suspending(code)
            return .suspend(code)
        }
        guard restart() else {
            return finish(
                .backOff(ServiceError(code, "The zone ended several times in a row.")))
        }
        state = .forgetting
        return .forgetService
    }

    private mutating func restart() -> Bool {
        restarts += 1
        return restarts <= Self.restartsMax
    }

    mutating func finish(_ outcome: RoundOutcome) -> SyncAction {
        state = .idle
        push.items = []
        return .finish(outcome)
    }

    // MARK: Failures of whole requests

    private mutating func failed(_ error: ServiceError) -> SyncAction {
        switch error.code.scope {
        case .zone:
            return zoneEnded(error.code)
        case .account:
            return finish(.blocked(error))
        case .request:
            guard error.code.retry == .after(.newToken), restart() else {
                return finish(.backOff(error))
            }
            switch state {
            case .checkingDatabase:
                state = .droppingDatabaseToken
                return .dropDatabaseToken
            case .pulling:
                state = .beginningFullFetch
                return .beginFullFetch
            default: return finish(.backOff(error))
            }
        case .record:
            switch state {
            case .pushing(let indexes): return refused(indexes, error)
            case .lookingUp(let indexes): return lookUpRefused(indexes, error)
            case .lookingUpMissed(let places, let count, let purpose):
                return missedRefused(places, of: count, before: purpose, error)
            default: return finish(.backOff(error))
            }
        }
    }
}

extension RoundOutcome {
    /// How a round ends that fails with an error before it has done anything.
    package init(before error: ServiceError) {
        self = error.code.scope == .account ? .blocked(error) : .backOff(error)
    }
}

extension SyncMachine {
    /// An item of the running pass.
    package func item(_ index: Int) -> PushItem { push.items[index] }
}
