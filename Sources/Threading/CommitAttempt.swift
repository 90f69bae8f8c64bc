/// One try to commit jobs together, in a transaction of their own.
package struct CommitAttempt<Queue: JobQueue> {
    private let group: GroupCommit<Queue>
    private var jobs: [Queue.Job]
    private let jobsMax: Int
    /// Decides which run again; nil before any try has failed, and then more are taken.
    private var plan: CommitPlan?
    /// Why jobs failed that are left out, by their places.
    private var failures: [Int: any Error] = [:]
    /// Why jobs failed in this try that changed nothing.
    private var refused: [Int: any Error] = [:]
    private var position = 0

    fileprivate init(_ group: GroupCommit<Queue>, _ first: Queue.Job, jobsMax: Int) {
        (self.group, jobs, self.jobsMax) = (group, [first], jobsMax)
    }

    /// The places of the jobs that are tried; nil when all have their results.
    private var part: Range<Int>? { plan.map(\.next) ?? 0..<jobs.count }

    /// Begins, or begins again, as the closure of a transaction may.
    package mutating func begin() {
        refused = [:]
        position = part?.lowerBound ?? jobs.count
    }

    /// The next job, with its place; nil if the transaction has all.
    ///
    /// - Parameter takesMore: Whether jobs may be added that came in the meantime.
    package mutating func next(takesMore: Bool = true) -> (place: Int, job: Queue.Job)? {
        while let part {
            if position == part.upperBound {
                guard plan == nil, takesMore, position < jobsMax, let job = group.another() else {
                    return nil
                }
                jobs.append(job)
            }
            defer { position += 1 }
            if failures[position] == nil { return (position, jobs[position]) }
        }
        return nil
    }

    /// Notes that a job failed and changed nothing: the others go on.
    package mutating func refuse(_ place: Int, _ error: any Error) { refused[place] = error }

    /// What is done about a try that failed as a whole.
    package enum Verdict {
        /// It is made again.
        case again
        /// Each job is tried by itself.
        case separate
        /// All jobs fail.
        case fail
    }

    /// Tries until all jobs have their results.
    fileprivate mutating func run(
        _ attempt: (inout CommitAttempt) throws -> Void, _ verdict: (any Error, Int) -> Verdict,
        _ finish: ([(job: Queue.Job, error: (any Error)?)]) -> Void
    ) {
        while part != nil {
            do {
                if plan?.runsAny ?? true {
                    begin()
                    try attempt(&self)
                    failures.merge(refused) { first, _ in first }
                }
            } catch let failed as JobFailed {
                failures[failed.place] = failed.error
                change { $0.failed(at: failed.place) }
                continue
            } catch {
                switch verdict(error, part?.count ?? 0) {
                case .again:
                    change { _ in }
                    continue
                case .separate:
                    change { $0.separate() }
                    continue
                case .fail:
                    for place in part ?? 0..<0 where failures[place] == nil {
                        failures[place] = error
                    }
                }
            }
            finish((part ?? 0..<0).map { (jobs[$0], failures[$0]) })
            change { $0.ended() }
        }
    }

    private mutating func change(_ body: (inout CommitPlan) -> Void) {
        var plan = self.plan ?? CommitPlan(count: jobs.count)
        body(&plan)
        self.plan = plan
    }
}

/// A job failed after it had changed something, so that its transaction has to end.
package struct JobFailed: Error {
    /// Its place among the jobs.
    package let place: Int
    package let error: any Error

    package init(_ place: Int, _ error: any Error) { (self.place, self.error) = (place, error) }
}

extension GroupCommit {
    /// Commits a job, and those that wait as far as they fit; if some fail, the others without them, as
    /// ``CommitPlan`` says.
    ///
    /// Each gets its own result, and one that fails leaves no trace.
    ///
    /// - Parameters:
    ///   - jobsMax: The most jobs that share a commit.
    ///   - attempt: Runs the jobs that ``CommitAttempt/next(takesMore:)`` gives in one transaction, and
    ///     commits it. It throws ``JobFailed`` if a job failed that had changed something.
    ///   - verdict: Says what is done about another failure, of a commit of so many jobs.
    ///   - finish: Tells jobs how they ended: well, unless there is an error.
    package func commit(
        _ first: Queue.Job, jobsMax: Int,
        attempt: (inout CommitAttempt<Queue>) throws -> Void,
        verdict: (any Error, _ count: Int) -> CommitAttempt<Queue>.Verdict = { _, _ in .fail },
        finish: ([(job: Queue.Job, error: (any Error)?)]) -> Void
    ) {
        committing {
            var run = CommitAttempt(self, first, jobsMax: jobsMax)
            run.run(attempt, verdict, finish)
        }
    }
}
