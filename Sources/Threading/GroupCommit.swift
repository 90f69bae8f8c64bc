/// Jobs that wait, in the order in which they are to run.
package protocol JobQueue: SendableMetatype {
    associatedtype Job: Sendable

    /// Takes the job whose turn it is; nil if none waits.
    mutating func next() -> Job?
}

/// Lets jobs share commits: those that come while a commit is under way share the next one.
///
/// Commits are made one after another, in the turns of one thread. Which jobs share one decides whoever commits, in
/// ``commit(_:jobsMax:attempt:verdict:finish:)``.
package final class GroupCommit<Queue: JobQueue>: Sendable {
    private struct State {
        var queue: Queue
        var marks = GroupCommitMarks()
    }

    private let state: Locked<State>

    /// Nothing is committed before the first job.
    package init(_ queue: sending Queue) { state = Locked(State(queue: queue)) }

    /// Adds to the queue, and has a thread work it off.
    ///
    /// - Parameters:
    ///   - waits: Whether the caller waits for the job it adds. Then the job is committed on the calling
    ///     thread if there is nothing else to do; other jobs never run there.
    ///   - add: Returns whether it added a job.
    ///   - commit: Commits a job, and those that it takes besides. It is held only while jobs wait.
    package func submit(
        to thread: SerialThread, waits: Bool = false, _ add: (inout Queue) -> Bool,
        commit: @escaping @Sendable (Queue.Job) -> Void
    ) {
        let mustSchedule = state.withLock { state in
            guard add(&state.queue), !state.marks.isScheduled else { return false }
            state.marks.isScheduled = true
            return true
        }
        guard mustSchedule else { return }
        var first: Queue.Job?
        if waits, thread.runIfIdle({ commitAlone(commit) }) {
            first = next()
            guard first != nil else { return }
        }
        thread.submit { [self, first] in
            if let first { commit(first) }
            while let job = next() { commit(job) }
        }
    }

    /// Commits the first job, and none that came behind it.
    private func commitAlone(_ commit: (Queue.Job) -> Void) {
        let job = state.withLock { state in
            state.marks.isAlone = true
            state.marks.checkInvariants()
            return state.queue.next()
        }
        if let job { commit(job) }
        state.withLock { $0.marks.isAlone = false }
    }

    /// Takes the next job for the commit that is under way.
    func another() -> Queue.Job? { state.withLock { $0.marks.isAlone ? nil : $0.queue.next() } }

    /// Looks at the queue, or changes it without adding jobs.
    package func withQueue<Result>(_ body: (inout Queue) -> Result) -> Result {
        state.withLock { body(&$0.queue) }
    }

    /// The job whose turn it is; nil if none waits, and then nobody looks until one comes.
    private func next() -> Queue.Job? {
        state.withLock { state in
            let job = state.queue.next()
            if job == nil { state.marks.isScheduled = false }
            state.marks.checkInvariants()
            return job
        }
    }

    /// Runs a commit, of which there is one at a time.
    func committing(_ commit: () -> Void) {
        state.withLock { state in
            state.marks.commits += 1
            state.marks.checkInvariants()
        }
        commit()
        state.withLock { $0.marks.commits -= 1 }
    }
}

/// How it stands with the commits of a group.
struct GroupCommitMarks {
    /// Whether somebody will look at the queue.
    var isScheduled = false
    /// Whether a caller commits its own job, and no other one with it.
    var isAlone = false
    /// The commits that are under way.
    var commits = 0

    /// Traps if the marks contradict each other, unless the build is optimised.
    func checkInvariants() { assert(violation == nil, violation ?? "") }

    /// What is wrong with the marks; nil if nothing is.
    var violation: String? {
        if isAlone, !isScheduled { return "A caller commits alone, and nobody looks." }
        if !(0...1).contains(commits) { return "\(commits) commits are under way at once." }
        return nil
    }
}
