import Glibc

/// The one thread on which an environment writes.
///
/// LMDB's write lock belongs to a thread: a transaction that ends on another one hangs every later
/// writer of every process. Jobs run in the order of their submission, each exactly once. The
/// thread starts with the first job and stops when the environment closes, after the jobs that
/// were submitted until then. A job that comes later runs at once on the thread that submits it,
/// where the environment refuses all calls, so that nobody waits forever for its result.
package final class WriterThread: @unchecked Sendable {  // Protected by the pthread mutex.
    private enum Phase {
        case idle
        case running(pthread_t)
        case stopping(pthread_t)
        case stopped
    }

    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    /// Held while a late job runs on its submitter's thread, so that jobs still run one by one.
    private let lateJobs: UnsafeMutablePointer<pthread_mutex_t>
    private let process = Process.current
    private var phase = Phase.idle
    private var jobs: [@Sendable () -> Void] = []
    private var lastJob: (@Sendable () -> Void)?

    private let gate: Gate

    init(gate: Gate) {
        self.gate = gate
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        changed = .allocate(capacity: 1)
        pthread_cond_init(changed, nil)
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
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        switch phase {
        case .running(let thread), .stopping(let thread):
            return pthread_equal(thread, pthread_self()) != 0
        case .idle, .stopped: return false
        }
    }

    /// Adds a job behind those that wait, and returns at once.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        guard process.isCurrent else { return job() }
        pthread_mutex_lock(lock)
        if case .stopped = phase {
            pthread_mutex_unlock(lock)
            pthread_mutex_lock(lateJobs)
            job()
            pthread_mutex_unlock(lateJobs)
            return
        }
        jobs.append(job)
        if case .idle = phase { start() }
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(lock)
    }

    /// Runs a closure on the thread and waits for its result. On the thread itself it runs at once.
    ///
    /// - Throws: `busy` inside a read, because a write that enlarges the map waits for the end of
    ///   that read; or what the closure throws.
    package func submitAndWait<R: Sendable>(_ work: @Sendable () throws -> R) throws -> R {
        if isCurrent { return try work() }
        if gate.isReading {
            throw LMDBError(
                .busy, "A read can't wait for a write. End the read, then wait for the write.")
        }
        return try withoutActuallyEscaping(work) { work in
            let call = BlockingCall(work)
            submit { call.run() }
            return try call.wait()
        }
    }
}

extension WriterThread {
    /// Runs the remaining jobs and then `lastJob`, and ends the thread.
    ///
    /// Waits for the end, except on the thread itself: there it comes after the current job.
    func stop(lastJob: @escaping @Sendable () -> Void) {
        let isInside = isCurrent
        pthread_mutex_lock(lock)
        guard case .running(let thread) = phase else {
            phase = .stopped
            pthread_mutex_unlock(lock)
            return lastJob()
        }
        self.lastJob = lastJob
        phase = .stopping(thread)
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(lock)
        if isInside {
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }

    /// Starts the thread; the mutex is held.
    private func start() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<WriterThread>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(status == 0, "The system has no thread left for the writer: \(status).")
        phase = .running(thread)
    }

    private func run() {
        var batch: [(@Sendable () -> Void)?] = []
        while true {
            pthread_mutex_lock(lock)
            while jobs.isEmpty, case .running = phase { pthread_cond_wait(changed, lock) }
            batch = jobs
            jobs.removeAll(keepingCapacity: true)
            if batch.isEmpty { break }
            pthread_mutex_unlock(lock)
            for index in batch.indices {
                batch[index]?()
                // What the job holds may close the environment; release it here, in order.
                batch[index] = nil
            }
        }
        phase = .stopped
        let lastJob = self.lastJob
        self.lastJob = nil
        pthread_mutex_unlock(lock)
        lastJob?()
    }
}
