/// A few threads that run jobs in the order of their submission, several at a time.
///
/// A thread starts when a job finds none idle, and ends when it has had nothing to do for a while.
/// A child that was forked has no threads of its parent: jobs run on the thread that submits them.
package final class ThreadPool: @unchecked Sendable {  // Protected by the monitor.
    private let threadsMax: Int
    private let idleMilliseconds: Int
    private let monitor = Monitor()
    private let process = ProcessIdentity.current
    private var jobs: ArraySlice<@Sendable () -> Void> = []
    private var threads = 0
    private var idle = 0

    /// Makes a pool without threads.
    ///
    /// - Parameters:
    ///   - threadsMax: The most threads at a time, at least one.
    ///   - idleMilliseconds: How long a thread waits for a job before it ends.
    package init(threadsMax: Int, idleMilliseconds: Int = 1_000) {
        precondition(threadsMax > 0, "A pool without threads runs nothing.")
        self.threadsMax = threadsMax
        self.idleMilliseconds = idleMilliseconds
    }

    /// The number of threads at the moment.
    package var threadCount: Int { monitor.inside { threads } }

    /// Adds a job behind those that wait, and returns at once.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        guard process.isCurrent else { return job() }
        monitor.enter()
        jobs.append(job)
        if idle >= jobs.count {
            monitor.signal()
        } else if threads < threadsMax {
            threads += 1
            SystemThread.detach { [self] in serve() }
        }
        monitor.leave()
    }

    private func serve() {
        monitor.enter()
        while true {
            if let job = jobs.popFirst() {
                monitor.leave()
                job()
                monitor.enter()
                continue
            }
            idle += 1
            let wasWoken = monitor.wait(milliseconds: idleMilliseconds)
            idle -= 1
            if !wasWoken, jobs.isEmpty { break }
        }
        threads -= 1
        monitor.leave()
    }
}
