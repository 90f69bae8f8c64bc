import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// Those who observe reads of one store: which of them are due to read again.
///
/// One task takes the changes of all commits, and asks one index whom they concern, so that a commit
/// costs its writer the same however many observe. Who is due is asked no more until it read again.
final class Observers: Sendable {
    private enum Phase {
        /// It has to read, first or again.
        case due
        /// It reads.
        case reading
        /// Its read is in the index, with or without a caller that waits for the next.
        case current(CheckedContinuation<Bool, Never>?)
        /// The store was closed, or the task of the observer cancelled.
        case ended
    }

    private struct State {
        var phases: [Int: Phase] = [:]
        /// What was committed while observers read. A commit looks at those who read, not at all.
        var missed: [Int: MailboxContents] = [:]
        var index = ObservationIndex()
        var number = 0
        var mailbox: ChangeMailbox?
        var work = ObservationIndex.Work()
    }

    private let feed: ChangeFeed
    /// The store's number in the feed, and its handle.
    private let store: Int
    private let environment: Environment
    private let state = Locked(State())
    /// How many changes were looked at. Held by who looks at them, one after another.
    private let lookedAt = Locked(0)

    init(_ feed: ChangeFeed, _ store: Int, _ environment: Environment) {
        self.feed = feed
        self.store = store
        self.environment = environment
    }

    /// What was done until now.
    var work: ObservationIndex.Work { state.withLock { $0.work } }

    // MARK: Coming and going

    /// Adds an observer, which is due at once, and returns its number.
    func open() -> Int {
        // Opened before it reads, so that no later commit is missed.
        let mailbox = feed.open(for: store)
        mailbox.setTakesAllCommits(true)
        let (number, isFirst) = state.withLock { state in
            state.number += 1
            state.phases[state.number] = .due
            let isFirst = state.mailbox == nil
            if isFirst { state.mailbox = mailbox }
            return (state.number, isFirst)
        }
        if isFirst {
            Task { [self] in
                while await mailbox.arrives() { takeChanges(of: mailbox) }
                end(mailbox)
            }
        }
        return number
    }

    /// Takes an observer away.
    func close(_ number: Int) {
        let (phase, mailbox) = state.withLock { state -> (Phase?, ChangeMailbox?) in
            let phase = state.phases.removeValue(forKey: number)
            state.missed[number] = nil
            state.index.remove(number)
            guard state.phases.isEmpty else { return (phase, nil) }
            defer { state.mailbox = nil }
            return (phase, state.mailbox)
        }
        if case .current(let waiting?) = phase { waiting.resume(returning: false) }
        mailbox?.close()
    }

    /// Ends all observers of a mailbox that was closed.
    private func end(_ mailbox: ChangeMailbox) {
        let phases = state.withLock { state -> [Phase] in
            guard state.mailbox === mailbox else { return [] }
            state.mailbox = nil
            let phases = Array(state.phases.values)
            state.phases = state.phases.mapValues { _ in .ended }
            state.missed = [:]
            state.index = ObservationIndex()
            return phases
        }
        for case .current(let waiting?) in phases { waiting.resume(returning: false) }
    }

    // MARK: Reading

    /// Waits until an observer is due; false if it ended. The observer of a task that is cancelled gets
    /// what was committed before, and then ends.
    func isDue(_ number: Int) async -> Bool {
        if Task.isCancelled { return isDueAtOnce(number) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state -> Bool? in
                    switch state.phases[number] {
                    case .due: return true
                    case .ended, nil: return false
                    case .current(nil) where !Task.isCancelled:
                        state.phases[number] = .current(continuation)
                        return nil
                    case .current, .reading: return false
                    }
                }
                if let isDue { continuation.resume(returning: isDue) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    /// Whether an observer has something to read, without waiting; it ends if not.
    private func isDueAtOnce(_ number: Int) -> Bool {
        if let mailbox = state.withLock({ $0.mailbox }) { takeChanges(of: mailbox) }
        let isDue = state.withLock { state in
            if case .due = state.phases[number] { true } else { false }
        }
        if !isDue { cancel(number) }
        return isDue
    }

    private func cancel(_ number: Int) {
        let phase = state.withLock { state -> Phase? in
            guard state.phases[number] != nil else { return nil }
            state.index.remove(number)
            state.missed[number] = nil
            return state.phases.updateValue(.ended, forKey: number)
        }
        if case .current(let waiting?) = phase { waiting.resume(returning: false) }
    }

    /// Begins to read for an observer.
    func begin(_ number: Int) {
        state.withLock { state in
            state.work.runs += 1
            guard case .due = state.phases[number] else { return }
            state.phases[number] = .reading
            state.missed[number] = MailboxContents()
        }
    }

    /// Ends a read that failed: the observer stays due.
    func fail(_ number: Int) {
        state.withLock { state in
            if state.missed.removeValue(forKey: number) != nil { state.phases[number] = .due }
        }
    }

    /// Ends a read.
    ///
    /// - Parameter read: What it looked at.
    func end(_ number: Int, _ read: ObservationIndex) {
        while !finish(number, read) {}
    }

    /// Ends a read, unless something was committed meanwhile that has to be looked at first.
    private func finish(_ number: Int, _ read: ObservationIndex) -> Bool {
        let missed = state.withLock { state -> [ChangeSet] in
            guard let missed = state.missed[number] else { return [] }
            if missed.pending.isEmpty {
                state.index.insert(read)
                state.missed[number] = nil
                state.phases[number] = .current(nil)
            } else {
                state.missed[number] = MailboxContents()
            }
            return missed.pending
        }
        for change in missed {
            guard touched(by: change, read).isEmpty else {
                fail(number)
                return true
            }
        }
        return missed.isEmpty
    }

    // MARK: Changes

    /// Looks at all changes that are there.
    private func takeChanges(of mailbox: ChangeMailbox) {
        lookedAt.withLock { count in
            while let change = mailbox.takeFirst() {
                take(change)
                count += 1
            }
        }
    }

    /// Makes the observers due that a change concerns.
    private func take(_ change: ChangeSet) {
        let reads = concerned(by: change)
        guard !reads.isEmpty else { return }
        let waiting = state.withLock { state in
            reads.compactMap { number, sequence -> CheckedContinuation<Bool, Never>? in
                // It may have gone, or read again meanwhile: then it knows the change.
                guard case .current(let waiting) = state.phases[number],
                    state.index.sequences[number] == sequence
                else { return nil }
                state.index.remove(number)
                state.phases[number] = .due
                return waiting
            }
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    /// The observers whose reads a change concerns, with the last operation that each read saw.
    ///
    /// The index is held no longer: what changes it next would copy it.
    private func concerned(by change: ChangeSet) -> [Int: UInt64] {
        let index = state.withLock { state -> ObservationIndex in
            for number in state.missed.keys { state.missed[number]?.add(change) }
            return state.index
        }
        guard !index.isEmpty, !change.sequences.isEmpty || index.needsAllCommits else { return [:] }
        return touched(by: change, index).reduce(into: [:]) { $0[$1] = index.sequences[$1] }
    }

    private func touched(
        by change: ChangeSet, _ index: ObservationIndex
    ) -> Set<Int> {
        var work = ObservationIndex.Work()
        defer {
            state.withLock { state in
                state.work.rows += work.rows
                state.work.conditions += work.conditions
            }
        }
        do {
            return try feed.read(environment) {
                try index.touched(by: change, in: $0, &work)
            }
        } catch {
            // Who reads again is told what is wrong.
            return index.observations
        }
    }
}
