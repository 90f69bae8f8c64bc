import Synchronization

/// Counts the jobs that serial threads run, for whoever bounds or compares work without a clock.
///
/// A thread counts for the meter that was current when the thread was made. So all commits of a store
/// count for the task that opened it, whichever task asks for them.
package final class WorkMeter: Sendable {
    /// The meter of the task and of its child tasks; nil where nobody counts.
    @TaskLocal package static var current: WorkMeter?

    private let jobs = Atomic(0)
    private let outer: WorkMeter?

    /// A meter that has counted nothing.
    ///
    /// - Parameter outer: Counts the same work too.
    package init(within outer: WorkMeter? = nil) { self.outer = outer }

    /// The number of jobs that were counted.
    package var count: Int { jobs.load(ordering: .relaxed) }

    /// Counts work. May be called on any thread.
    package func add(_ count: Int = 1) {
        jobs.wrappingAdd(count, ordering: .relaxed)
        outer?.add(count)
    }
}
