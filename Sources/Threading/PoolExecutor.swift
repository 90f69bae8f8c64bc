/// Runs parts of tasks on a few threads that are none of Swift's own, and so may wait for anything.
package final class PoolExecutor: TaskExecutor {
    private let threads: ThreadPool

    /// Makes an executor without threads.
    ///
    /// - Parameter threadsMax: The most threads at a time, at least one.
    package init(threadsMax: Int) { threads = ThreadPool(threadsMax: threadsMax) }

    /// Adds a part of a task behind those that wait.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
