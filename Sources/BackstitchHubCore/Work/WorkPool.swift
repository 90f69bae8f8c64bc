import Threading

/// Threads for what may take long: so many, and no more at a time, and none of them Swift's own, on
/// which everything else runs.
///
/// Jobs that look through records one by one have only a part of the threads, so that what is bounded
/// by a page does not wait for them. Clients get their turns by what they cost (``FairQueue``). So each
/// job counts in its work what it costs.
package final class WorkPool: @unchecked Sendable {  // All state is protected by the monitor.
    /// How long a job may take.
    package enum Lane: Sendable {
        /// As long as a page is.
        case page
        /// As long as there are records.
        case scan
    }

    /// Gives the result of a job to the waiting caller. Other threads may work at the request from then on.
    package typealias Answer = @Sendable () -> Void

    private struct Job: Sendable {
        var work: RequestWork
        /// In milliseconds of the pool's clock.
        var since: Int64
        var run: @Sendable () -> Answer
        /// Called in place of `run` where its turn did not come in time.
        var refuse: Answer
    }

    private struct State {
        var waiting = FairLanes<Job>()
        var threads = 0
        var idle = 0
        var scanning = 0
        var uncounted = 0
        var isStopped = false
    }

    private let threadsMax: Int
    private let scansMax: Int
    private let waitingMax: Int
    private let waitingPerClientMax: Int
    private let waitMilliseconds: Int64
    private let platform: HubPlatform
    /// Milliseconds of the steady clock.
    private let clock: @Sendable () -> Int64
    private let monitor = Monitor()
    private var state = State()
    /// Does what may start threads, and is not nicer than others.
    private let errands = SerialThread(checkWaiting: {})

    /// - Parameters:
    ///   - threads: How many there are at most; as many as read unless given.
    ///   - waiting: How many jobs wait at most, a quarter of them of one client; as many as reads, with their
    ///     bound for each client, unless given.
    ///   - clock: Milliseconds of the steady clock, by which jobs wait too long; never unless given.
    package init(
        _ limits: HubLimits, _ platform: HubPlatform = HubPlatform(), threads: Int? = nil,
        waiting: Int? = nil, clock: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        (self.platform, self.clock) = (platform, clock)
        threadsMax = threads ?? max(2, limits.readThreads)
        scansMax = max(1, threadsMax / 2)
        waitingMax = waiting ?? limits.waitingReads
        waitingPerClientMax = waiting.map { max(1, $0 / 4) } ?? limits.waitingReadsPerClient
        waitMilliseconds = Int64(limits.waitMilliseconds)
    }

    /// The threads that read for a hub.
    package convenience init(_ configuration: HubConfiguration, _ platform: HubPlatform) {
        self.init(
            configuration.limits, platform, clock: configuration.clock.steadyMilliseconds)
    }

    /// Has a thread run a job.
    ///
    /// - Parameters:
    ///   - run: Does the work, which has to count what it costs. What it returns is called on the same
    ///     thread when the client was charged.
    ///   - refuse: Called in place of it, on any thread, if too many jobs wait or the job waited too long; also if
    ///     it was the last of many jobs of its client, and one of another client took its place.
    package func submit(
        _ lane: Lane, _ work: RequestWork, _ run: @escaping @Sendable () -> Answer,
        refuse: @escaping Answer
    ) {
        let job = Job(work: work, since: clock(), run: run, refuse: refuse)
        monitor.enter()
        let ofClient = state.waiting.waitingCount(of: work.client)
        // Strangers can't take all places.
        let places = work.isAnonymous ? waitingMax : waitingMax + waitingMax / 4
        let isFull = state.waiting.count >= places
        let mayWait = !state.isStopped && ofClient < waitingPerClientMax
        // Few clients don't hold many places while others have none.
        let displaced =
            mayWait && isFull
            ? state.waiting.makeRoom(besides: ofClient, isAnonymous: work.isAnonymous) : nil
        let isTaken = mayWait && (!isFull || displaced != nil)
        if isTaken {
            state.waiting.add(job, to: lane, of: work.client, isAnonymous: work.isAnonymous)
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
        if !isTaken { refuse() }
        displaced?.refuse()
    }

    /// Whether no job waits.
    package var isCalm: Bool {
        monitor.enter()
        defer { monitor.leave() }
        return state.waiting.count == 0 && !state.isStopped
    }

    /// How many jobs wait.
    package var waitingCount: Int { monitor.inside { state.waiting.count } }

    /// How many jobs of clients ran that counted no cost: their clients had a thread for nothing.
    var uncountedCount: Int { monitor.inside { state.uncounted } }

    /// Refuses the jobs that have waited too long, whether or not a thread gets free. Call it now and then.
    package func refuseLate() {
        let now = clock()
        let late = monitor.inside { state.waiting.removeAll { isLate($0, now) } }
        for job in late { job.refuse() }
    }

    private func isLate(_ job: Job, _ now: Int64) -> Bool { now > job.since + waitMilliseconds }

    /// Runs a closure on a thread of the pool.
    ///
    /// - Throws: ``WorkCancelled`` if it never ran; or what the closure throws.
    package func run<R: Sendable>(
        _ lane: Lane, _ work: RequestWork, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            submit(lane, work) { [self] in
                let result = Result { try body() }
                return { [self] in handOver { continuation.resume(with: result) } }
            } refuse: { [self] in
                handOver { continuation.resume(throwing: WorkCancelled()) }
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
        let jobs = state.waiting.removeAll { _ in true }
        monitor.broadcast()
        monitor.leave()
        for job in jobs { job.refuse() }
        errands.stop {}
    }

    /// How much nicer the threads are than others of the process: reads of many clients don't keep
    /// the one thread that writes, or those that take requests, from the processors.
    static let niceness: Int32 = 5

    private func serve() {
        platform.beNicer(Self.niceness)
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
            let isLate = isLate(job, clock())
            let answer = isLate ? job.refuse : job.run()
            let spent = job.work.meter.cost - cost
            monitor.enter()
            if spent == 0, !isLate, !client.isEmpty { state.uncounted += 1 }
            state.waiting.charge(spent, to: client, in: lane)
            if lane == .scan {
                state.scanning -= 1
                // A thread that found all places for scans taken may take the next one.
                if !state.waiting.scans.isEmpty, state.idle > 0 { monitor.signal() }
            }
            monitor.leave()
            answer()
            monitor.enter()
        }
        state.threads -= 1
        monitor.leave()
    }

    private func next() -> (lane: Lane, client: String, job: Job)? {
        let next = state.waiting.next(takesScans: state.scanning < scansMax)
        if next?.lane == .scan { state.scanning += 1 }
        return next
    }
}
