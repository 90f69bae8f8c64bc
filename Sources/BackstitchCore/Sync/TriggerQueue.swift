/// Decides when the next round begins, and what it is named after.
///
/// | trigger | waits for other writes | waits for the deadline after a failure |
/// |---|---|---|
/// | timer, save, notification, start, retry | only a save | yes |
/// | connectivity | no | only for one that the service asked for |
/// | manual | no | no |
///
/// Triggers that are due together are one round, named after the strongest, at the earliest of their
/// times. Invariants: a round covers every trigger that came before it began; one that comes while it
/// runs leads to another round. Nothing is due while the network is known to be away.
package struct TriggerQueue: Equatable, Sendable {
    /// A round that is to begin.
    package struct Entry: Equatable, Sendable {
        package var trigger: SyncTrigger
        /// In milliseconds since 1970.
        package var dueMilliseconds: Int64

        package init(_ trigger: SyncTrigger, dueMilliseconds: Int64) {
            self.trigger = trigger
            self.dueMilliseconds = dueMilliseconds
        }
    }

    private struct Round: Equatable {
        var later: SyncTrigger?
    }

    private let debounceMilliseconds: Int64
    private let pollMilliseconds: Int64?
    private var entry: Entry?
    /// The round that runs, with the strongest of the triggers that came during it.
    private var running: Round?
    /// Whether anything is known that keeps the service out of reach.
    package private(set) var isReachable = true
    /// Before when nothing begins by itself.
    package private(set) var deadline: RetryDeadline?

    /// A queue in which nothing is due.
    ///
    /// - Parameters:
    ///   - debounceMilliseconds: How long a save waits for others.
    ///   - pollMilliseconds: How long after a round the next one begins by itself; nil for never.
    package init(debounceMilliseconds: Int64, pollMilliseconds: Int64? = nil) {
        self.debounceMilliseconds = max(0, debounceMilliseconds)
        self.pollMilliseconds = pollMilliseconds.map { max(1, $0) }
    }

    /// The next round; nil if none is to begin, or none can.
    package var next: Entry? { isReachable && running == nil ? entry : nil }

    /// The strongest of the triggers that came while a round runs, which lead to another one.
    package var later: SyncTrigger? { running?.later }

    /// The round that is to begin, also while none can.
    package var known: Entry? { entry }

    /// Takes a trigger.
    package mutating func add(_ trigger: SyncTrigger, nowMilliseconds now: Int64) {
        if let round = running {
            running?.later = round.later?.stronger(trigger) ?? trigger
            return
        }
        let due = now + (trigger.waitsForMore ? debounceMilliseconds : 0)
        let mayHurry = trigger == .manual || (trigger == .connectivity && deadline?.isAsked != true)
        add(trigger, atMilliseconds: mayHurry ? due : max(due, deadline?.dueMilliseconds ?? due))
    }

    /// Takes a trigger that is due at a time.
    package mutating func add(_ trigger: SyncTrigger, atMilliseconds due: Int64) {
        guard let known = entry else {
            entry = Entry(trigger, dueMilliseconds: due)
            return
        }
        entry = Entry(
            known.trigger.stronger(trigger), dueMilliseconds: min(known.dueMilliseconds, due))
    }

    /// A round begins; it covers all triggers so far.
    package mutating func began() {
        running = Round()
        entry = nil
    }

    /// The round ended; triggers that came during it count from now.
    ///
    /// - Parameter polls: Whether the next round begins by itself after some time.
    package mutating func ended(nowMilliseconds now: Int64, polls: Bool) {
        let later = running?.later
        running = nil
        if let later { add(later, nowMilliseconds: now) }
        if polls, let pollMilliseconds {
            add(
                .timer,
                atMilliseconds: max(now + pollMilliseconds, deadline?.dueMilliseconds ?? now))
        }
    }

    /// Sets the time before which nothing begins by itself; nil ends the wait.
    package mutating func setDeadline(_ deadline: RetryDeadline?) {
        self.deadline = deadline
    }

    /// Notes whether the network is there; when it comes back, a round is due at once.
    ///
    /// - Returns: whether that is news.
    package mutating func setReachable(_ isReachable: Bool, nowMilliseconds now: Int64) -> Bool {
        guard isReachable != self.isReachable else { return false }
        self.isReachable = isReachable
        if isReachable { add(.connectivity, nowMilliseconds: now) }
        return true
    }
}
