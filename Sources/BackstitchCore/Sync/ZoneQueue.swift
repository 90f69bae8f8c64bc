/// Decides which zone of a store is exchanged next, and what is done for it.
///
/// Each zone has a ``SyncMachine`` of its own, which outlives rounds, and waits by itself after failures. In a
/// round zones have turns, one at a time, so that one request is under way at a time:
///
/// - The store's own zone is first, then the public one. The others follow, from the one behind the last that
///   had a turn before. A zone other than the own one has no turn if nothing is to be done for it.
/// - The list of a database's changes is read for the first zone of it that has a turn. It may give others work.
/// - A turn ends before a pass that follows a push, and after ``pagesPerTurn`` pages, if another zone waits.
///   The zone has its next turn behind the others.
/// - A zone whose wait is not over has no turn, unless all wait: then the round began for another reason.
/// - After a refusal that concerns the account no zone of the database has a turn. After ``silentMax`` zones in
///   a row without network none has.
///
/// A queue of one zone does what its machine does.
package struct ZoneQueue: Equatable, Sendable {
    /// The most pages of changes that are read in one turn if other zones wait.
    package static let pagesPerTurn = 16
    /// How many zones in a row may meet no network before the rest is not asked.
    package static let silentMax = 2

    /// A zone, with what holds from one round to the next.
    fileprivate struct Zone: Equatable {
        let slot: UInt8
        var database: DatabaseScope
        var machine: SyncMachine
        /// The failures in a row; nil until the store has told of those before.
        var backoff: Backoff?
        /// Before when it is not tried again by itself.
        var deadline: RetryDeadline?

        // What holds in a round.

        var prepared: Prepared
        /// What it does in its next turn; nil before the first one.
        var paused: SyncAction?
        /// The pages that were read in this turn.
        var pages = 0
        /// Whether something was pushed in this turn.
        var hasPushed = false

        /// Whether something is to be done for it.
        var hasWork: Bool {
            guard slot != 0 else { return true }
            guard prepared.suspension == nil else { return false }
            return prepared.needsPull || prepared.hasPending || !prepared.isSetUp
        }
    }

    /// What is known of a zone when a round begins.
    package struct Prepared: Equatable, Sendable {
        package var slot: UInt8 = 0
        package var database = DatabaseScope.private
        package var limits = ServiceLimits()
        package var isSetUp = true
        package var needsPull = false
        package var hasPending = true
        package var suspension: ServiceError.Code?
        package var prefersLocal = false
        package var retry: RetryDeadline?

        package init() {}
    }

    /// What comes next.
    package enum Step: Equatable, Sendable {
        case exchange(UInt8, SyncAction)
        /// A zone is through with the round.
        case ended(UInt8, RoundOutcome)
        /// All zones are.
        case done
    }

    private let isAtomic: Bool
    /// In the order of their slots; the store's own zone is the first.
    private var zones: [Zone]
    /// The slots of the zones that wait for a turn in this round, in order.
    private var turns: [UInt8] = []
    /// The last zone besides the store's own that had a turn.
    private var last: UInt8 = 1
    /// The databases whose list of changes was read in this round.
    private var listed: Set<DatabaseScope> = []
    /// The zones in a row that met no network.
    private var silent = 0
    /// When the next zone may be asked that this round left out.
    package private(set) var leftOutMilliseconds: Int64?
    /// Whether the signed-in user was compared with the store's.
    package var isAccountChecked = false

    /// A queue of a store's own zone, which has had no round.
    package init(isAtomic: Bool = false) {
        self.isAtomic = isAtomic
        zones = [Self.zone(Prepared(), isAtomic)]
    }

    private static func zone(_ prepared: Prepared, _ isAtomic: Bool) -> Zone {
        Zone(
            slot: prepared.slot, database: prepared.database,
            machine: SyncMachine(isAtomic: isAtomic), prepared: prepared)
    }

    private func place(of slot: UInt8) -> Int {
        guard let place = zones.firstIndex(where: { $0.slot == slot }) else {
            preconditionFailure("The zone \(slot) is not in the round.")
        }
        return place
    }

    // MARK: What it shows

    /// The decisions for a zone.
    package func machine(of slot: UInt8) -> SyncMachine { zones[place(of: slot)].machine }

    /// Whether a zone is under way.
    package var isRunning: Bool { zones.contains { $0.machine.isRunning } }

    /// Whether a zone is under way.
    package func isRunning(_ slot: UInt8) -> Bool { zones[place(of: slot)].machine.isRunning }

    /// Before when nothing begins by itself: the earliest of the zones' times, if all of them wait.
    package var deadline: RetryDeadline? {
        let deadlines = zones.compactMap(\.deadline)
        guard deadlines.count == zones.count else { return nil }
        return deadlines.min { $0.dueMilliseconds < $1.dueMilliseconds }
    }

    // MARK: Rounds

    /// Begins a round.
    ///
    /// - Parameters:
    ///   - prepared: The zones of the store, in the order of their slots; the own one is the first.
    ///   - trigger: The round's.
    package mutating func begin(
        _ prepared: [Prepared], by trigger: SyncTrigger, now: Int64
    ) -> Step {
        (listed, silent, leftOutMilliseconds) = ([], 0, nil)
        zones = prepared.map { prepared in
            var zone =
                zones.first { $0.slot == prepared.slot } ?? Self.zone(prepared, isAtomic)
            zone.database = prepared.database
            zone.prepared = prepared
            zone.machine.adopt(prepared.limits)
            if prepared.slot != 0 { zone.restore(prepared.retry, now: now) }
            (zone.paused, zone.pages, zone.hasPushed) = (nil, 0, false)
            return zone
        }
        let others = zones.map(\.slot).filter { $0 > 1 }
        let first = zones.map(\.slot).filter { $0 <= 1 }
        turns = first + others.filter { $0 > last } + others.filter { $0 <= last }
        let waiting = zones.filter { $0.waits(trigger, now: now) }
        if waiting.count < zones.count {
            leftOutMilliseconds = waiting.compactMap(\.deadline?.dueMilliseconds).min()
            let slots = Set(waiting.map(\.slot))
            turns.removeAll(where: slots.contains)
        }
        return next()
    }

    /// Gives the next zone its turn.
    package mutating func next() -> Step {
        while let slot = turns.first {
            turns.removeFirst()
            let place = place(of: slot)
            guard zones[place].hasWork else { continue }
            if slot > 1 { last = slot }
            (zones[place].pages, zones[place].hasPushed) = (0, false)
            if let action = zones[place].paused {
                zones[place].paused = nil
                zones[place].pages = action == .fetchZoneChanges ? 1 : 0
                return .exchange(slot, action)
            }
            let prepared = zones[place].prepared
            return handle(
                .began(
                    isSetUp: prepared.isSetUp && isAccountChecked, needsPull: prepared.needsPull,
                    suspension: prepared.suspension,
                    checksDatabase: !listed.contains(prepared.database)), of: slot)
        }
        return .done
    }

    /// Takes an event of a zone.
    ///
    /// - Parameter changed: Other zones of which a database's list said that they changed.
    package mutating func handle(
        _ event: SyncEvent, of slot: UInt8, changed: Set<UInt8> = []
    ) -> Step {
        let place = place(of: slot)
        if case .databaseChanges(_, _, false) = event {
            listed.insert(zones[place].database)
        }
        for other in zones.indices where changed.contains(zones[other].slot) && other != place {
            zones[other].prepared.needsPull = true
        }
        let action = zones[place].machine.handle(event)
        switch action {
        case .finish(let outcome):
            ended(zones[place].database, outcome)
            return .ended(slot, outcome)
        case .push: zones[place].hasPushed = true
        case .fetchZoneChanges: zones[place].pages += 1
        default: break
        }
        guard zones[place].mayPause(before: action), othersWait else {
            return .exchange(slot, action)
        }
        zones[place].paused = action
        turns.append(slot)
        return next()
    }

    /// Whether another zone has something to do in this round.
    private var othersWait: Bool { turns.contains { zones[place(of: $0)].hasWork } }

    /// Leaves out zones that would meet the same.
    private mutating func ended(_ database: DatabaseScope, _ outcome: RoundOutcome) {
        if case .backOff(let error) = outcome, error.code == .network {
            silent += 1
        } else {
            silent = 0
        }
        var isOfAccount = false
        if case .blocked(let error) = outcome { isOfAccount = error.code.isOfAccount }
        guard silent >= Self.silentMax || isOfAccount else { return }
        let left = turns.filter {
            silent >= Self.silentMax || zones[place(of: $0)].database == database
        }
        turns.removeAll(where: left.contains)
        // Those that were paused begin anew in the next round.
        for slot in left where zones[place(of: slot)].machine.isRunning {
            zones[place(of: slot)].machine.reset()
        }
    }

    /// Ends a round early. Zones that are under way begin anew in the next one.
    package mutating func stop() {
        turns = []
        for place in zones.indices where zones[place].machine.isRunning {
            zones[place].machine.reset()
        }
    }

    /// Forgets all decisions, because the store is not as they had it.
    package mutating func reset() {
        turns = []
        for place in zones.indices { zones[place].machine.reset() }
    }

    // MARK: Waiting

    /// Takes over what the store knows of a zone's failures before.
    package mutating func restore(_ retry: RetryDeadline?, of slot: UInt8 = 0, now: Int64) {
        zones[place(of: slot)].restore(retry, now: now)
    }

    /// Notes that a zone failed, and lets it wait longer than after the failure before.
    ///
    /// - Returns: Before when it is not tried again by itself, and whether that is news.
    package mutating func failed(
        _ error: ServiceError, of slot: UInt8 = 0, now: Int64, random: Double
    ) -> (deadline: RetryDeadline, isNews: Bool) {
        let place = place(of: slot)
        var backoff = zones[place].backoff ?? Backoff()
        let due = now + backoff.failed(error, random: random)
        let deadline = RetryDeadline(
            dueMilliseconds: due, failures: backoff.failures,
            isAsked: Backoff.askedMilliseconds(error) != nil)
        let isNews = zones[place].deadline != deadline
        (zones[place].backoff, zones[place].deadline) = (backoff, deadline)
        return (deadline, isNews)
    }

    /// Notes that everything of a zone was exchanged.
    ///
    /// - Returns: Whether the store is to be told.
    package mutating func succeeded(_ slot: UInt8 = 0) -> Bool {
        let place = place(of: slot)
        zones[place].backoff?.succeeded()
        defer { zones[place].deadline = nil }
        return zones[place].deadline != nil || zones[place].prepared.prefersLocal
    }
}

extension ZoneQueue.Zone {
    fileprivate mutating func restore(_ retry: RetryDeadline?, now: Int64) {
        guard backoff == nil else { return }
        backoff = Backoff(failures: retry?.failures ?? 0)
        if let retry { deadline = retry.bounded(nowMilliseconds: now) }
    }

    /// Whether it has no turn in a round yet.
    fileprivate func waits(_ trigger: SyncTrigger, now: Int64) -> Bool {
        guard let deadline, deadline.dueMilliseconds > now else { return false }
        switch trigger {
        case .manual: return false
        case .connectivity: return deadline.isAsked
        case .timer, .save, .retry, .notification, .start: return true
        }
    }

    /// Whether nothing of what was read is needed any more.
    fileprivate func mayPause(before action: SyncAction) -> Bool {
        switch action {
        case .foldOutbox: hasPushed
        case .fetchZoneChanges: pages > ZoneQueue.pagesPerTurn
        default: false
        }
    }
}

extension ServiceError.Code {
    /// Whether it concerns every zone of a database, whatever is done with one.
    fileprivate var isOfAccount: Bool {
        switch self {
        case .notAuthenticated, .accountChanged, .incompatibleVersion, .unsupported: true
        default: false
        }
    }
}
