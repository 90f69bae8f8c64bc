import Threading

/// Threads for what may take long: so many, and no more at a time, and none of them Swift's own, on
/// which everything else runs.
///
/// Jobs that look through records one by one have only a part of the threads, so that what is bounded
/// by a page does not wait for them. Clients get their turns by what they cost (``FairQueue``).
package final class WorkPool: @unchecked Sendable {  // All state is protected by the monitor.
    /// How long a job may take.
    package enum Lane: Sendable {
        /// As long as a page is.
        case page
        /// As long as there are records.
        case scan
    }

    private struct Job: Sendable {
        var work: RequestWork
        /// In milliseconds of the steady clock.
        var since: Int64
        var run: @Sendable () -> Void
        /// Called in place of `run` where it came too late.
        var refuse: @Sendable () -> Void
    }

    private struct State {
        var pages = FairQueue<Job>()
        var scans = FairQueue<Job>()
        var threads = 0
        var idle = 0
        var scanning = 0
        var isStopped = false
    }

    private let threadsMax: Int
    private let scansMax: Int
    private let limits: HubLimits
    private let machine: HubMachine
    private let monitor = Monitor()
    private var state = State()
    /// Does what may start threads, and is not nicer than others.
    private let errands = SerialThread(checkWaiting: {})

    package init(_ limits: HubLimits, _ machine: HubMachine = HubMachine()) {
        (self.limits, self.machine) = (limits, machine)
        threadsMax = max(2, limits.readThreads)
        scansMax = max(1, threadsMax / 2)
    }

    /// Has a thread run a job.
    ///
    /// - Parameter refuse: Called in place of it, on any thread, if too many jobs wait or the job
    ///   waited too long.
    package func submit(
        _ lane: Lane, _ work: RequestWork, _ run: @escaping @Sendable () -> Void,
        refuse: @escaping @Sendable () -> Void
    ) {
        let job = Job(work: work, since: work.now, run: run, refuse: refuse)
        monitor.enter()
        let waiting = state.pages.count + state.scans.count
        let ofClient =
            state.pages.waitingCount(of: work.client) + state.scans.waitingCount(of: work.client)
        let isFull =
            state.isStopped || waiting >= limits.waitingReads
            || ofClient >= limits.waitingReadsPerClient
        if !isFull {
            switch lane {
            case .page: state.pages.add(job, of: work.client)
            case .scan: state.scans.add(job, of: work.client)
            }
            if state.idle > 0 {
                monitor.signal()
            } else if state.threads < threadsMax {
                // Before there is a thread of the pool that could start it.
                if state.threads == 0 { errands.submit {} }
                state.threads += 1
                SystemThread.detach { [self] in serve() }
            }
        }
        monitor.leave()
        if isFull { refuse() }
    }

    /// Whether no job waits.
    package var isCalm: Bool {
        monitor.enter()
        defer { monitor.leave() }
        return state.pages.isEmpty && state.scans.isEmpty && !state.isStopped
    }

    /// Runs a closure on a thread of the pool.
    ///
    /// - Throws: ``WorkGivenUp`` if it never ran; or what the closure throws.
    package func run<R: Sendable>(
        _ lane: Lane, _ work: RequestWork, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            submit(lane, work) { [self] in
                let result = Result { try body() }
                handOver { continuation.resume(with: result) }
            } refuse: { [self] in
                handOver { continuation.resume(throwing: WorkGivenUp()) }
            }
        }
    }

    /// Has a closure run soon on a thread like any other, one after the other.
    ///
    /// Whatever a job starts, or wakes, that is not of the pool goes through here: a new thread is as
    /// nice as the one that starts it, for as long as it lives. The closures that wait are as many as
    /// there are requests, and keep no more than these.
    package func handOver(_ errand: @escaping @Sendable () -> Void) { errands.submit(errand) }

    /// Ends the threads after what they do now; what waits is refused.
    package func stop() {
        monitor.enter()
        state.isStopped = true
        let jobs = state.pages.removeAll() + state.scans.removeAll()
        monitor.broadcast()
        monitor.leave()
        for job in jobs { job.refuse() }
        errands.stop {}
    }

    /// How much nicer the threads are than others of the process: reads of many clients don't keep
    /// the one thread that writes, or those that take requests, from the processors.
    static let niceness: Int32 = 5

    private func serve() {
        machine.beNicer(Self.niceness)
        monitor.enter()
        while true {
            guard let (lane, client, job) = next() else {
                if state.isStopped { break }
                state.idle += 1
                monitor.wait()
                state.idle -= 1
                continue
            }
            monitor.leave()
            let cost = job.work.meter.cost
            if job.work.now > job.since + Int64(limits.waitMilliseconds) {
                job.refuse()
            } else {
                job.run()
            }
            let spent = job.work.meter.cost - cost
            monitor.enter()
            switch lane {
            case .page: state.pages.charge(spent, to: client)
            case .scan:
                state.scans.charge(spent, to: client)
                state.scanning -= 1
                // A thread that found all places for scans taken may take the next one.
                if !state.scans.isEmpty, state.idle > 0 { monitor.signal() }
            }
        }
        state.threads -= 1
        monitor.leave()
    }

    private func next() -> (Lane, String, Job)? {
        if let (client, job) = state.pages.next() { return (.page, client, job) }
        guard state.scanning < scansMax, let (client, job) = state.scans.next() else { return nil }
        state.scanning += 1
        return (.scan, client, job)
    }
}
