import Glibc
import Synchronization

/// One thread that runs jobs in the order of their submission, each exactly once.
///
/// A caller that waits for its job anyway may run it by itself while the thread has nothing to do
/// (``runIfIdle(_:)``): two changes of the running thread cost more than many a job. Jobs still run
/// one by one, and whoever runs one counts as the thread.
///
/// The thread starts with the first job and ends with ``stop(lastJob:)``, after the jobs that were
/// submitted until then. A job that comes later runs at once on the thread that submits it, so that
/// nobody waits forever for its result; what it works on has to refuse it. A child that was forked
/// has no such thread, and runs jobs like that too.
package final class SerialThread: @unchecked Sendable {  // Protected by the monitor.
    private enum Phase {
        case idle
        case running(SystemThread)
        case stopping(SystemThread)
        case stopped
    }

    private let monitor = Monitor()
    /// Held while a late job runs on its submitter's thread, so that jobs still run one by one.
    private let lateJobs: UnsafeMutablePointer<pthread_mutex_t>
    private let process = ProcessIdentity.current
    private var phase = Phase.idle
    /// Who runs jobs; 0 between them. Set behind the monitor, and only by that thread itself: so each knows
    /// without the monitor whether it is the one.
    private let current = Atomic<pthread_t>(0)
    private var jobs: [@Sendable () -> Void] = []
    private var lastJob: (@Sendable () -> Void)?
    private let checkWaiting: @Sendable () throws -> Void
    private let meter = WorkMeter.current

    /// Makes a thread that has not started.
    ///
    /// - Parameter checkWaiting: Throws if the calling thread must not wait for a job.
    package init(checkWaiting: @escaping @Sendable () throws -> Void) {
        self.checkWaiting = checkWaiting
        lateJobs = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        pthread_mutex_init(lateJobs, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(lateJobs)
        lateJobs.deallocate()
    }

    /// Whether the caller runs inside a job.
    package var isCurrent: Bool {
        current.load(ordering: .relaxed) == pthread_self()
    }

    /// Adds a job behind those that wait, and returns at once.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        guard process.isCurrent else { return job() }
        monitor.enter()
        if case .stopped = phase {
            monitor.leave()
            pthread_mutex_lock(lateJobs)
            job()
            pthread_mutex_unlock(lateJobs)
            return
        }
        jobs.append(job)
        if case .idle = phase { phase = .running(SystemThread { self.run() }) }
        if !isTaken { monitor.broadcast() }
        monitor.leave()
    }

    /// Runs a job on the calling thread, if none runs or waits and the thread was started before.
    ///
    /// - Returns: Whether it ran.
    package func runIfIdle(_ job: () -> Void) -> Bool {
        guard process.isCurrent else { return false }
        monitor.enter()
        guard case .running = phase, !isTaken, jobs.isEmpty else {
            monitor.leave()
            return false
        }
        current.store(pthread_self(), ordering: .relaxed)
        monitor.leave()
        meter?.add()
        job()
        monitor.enter()
        current.store(0, ordering: .relaxed)
        if !jobs.isEmpty || isStopping { monitor.broadcast() }
        monitor.leave()
        return true
    }

    /// Runs a closure on the thread and waits for its result. On the thread itself it runs at once.
    ///
    /// - Throws: what the check of waiting threw, or the closure.
    package func submitAndWait<R: Sendable>(_ work: @Sendable () throws -> R) throws -> R {
        if isCurrent { return try work() }
        try checkWaiting()
        return try withoutActuallyEscaping(work) { work in
            let call = BlockingCall(work)
            submit { call.end(Result { try call.perform(()) }) }
            return try call.wait()
        }
    }

    /// Runs the remaining jobs and then `lastJob`, and ends the thread.
    ///
    /// Waits for the end, except on the thread itself: there it comes after the current job.
    package func stop(lastJob: @escaping @Sendable () -> Void) {
        let isInside = isCurrent
        monitor.enter()
        guard case .running(let thread) = phase else {
            phase = .stopped
            monitor.leave()
            return lastJob()
        }
        self.lastJob = lastJob
        phase = .stopping(thread)
        monitor.broadcast()
        monitor.leave()
        if isInside { thread.detach() } else { thread.join() }
    }

    private var isTaken: Bool { current.load(ordering: .relaxed) != 0 }

    private var isStopping: Bool {
        if case .stopping = phase { true } else { false }
    }

    private func run() {
        var batch: [(@Sendable () -> Void)?] = []
        while true {
            monitor.enter()
            current.store(0, ordering: .relaxed)
            while isTaken || jobs.isEmpty && !isStopping { monitor.wait() }
            batch = jobs
            jobs.removeAll(keepingCapacity: true)
            if batch.isEmpty { break }
            current.store(pthread_self(), ordering: .relaxed)
            monitor.leave()
            meter?.add(batch.count)
            for index in batch.indices {
                batch[index]?()
                // What the job holds may stop the thread; release it here, in order.
                batch[index] = nil
            }
        }
        phase = .stopped
        let lastJob = self.lastJob
        self.lastJob = nil
        monitor.leave()
        lastJob?()
    }
}
