/// Ends a read soon after its task was cancelled.
///
/// Moves of cursors and look-ups are steps. Belongs to one read, on one thread.
@usableFromInline
package final class ReadInterruption {
    /// The number of steps between two looks at the task.
    package static let interval = 256

    private let task: UnsafeCurrentTask?
    /// The steps until now.
    package private(set) var count = 0

    /// - Parameter task: The task that may be cancelled, as long as it lives; nil for the one that runs.
    package init(_ task: UnsafeCurrentTask? = nil) { self.task = task }

    /// Counts a step.
    ///
    /// - Throws: `cancelled` at every 256th step if the task was cancelled.
    @usableFromInline
    func step() throws(LMDBError) {
        count &+= 1
        guard count % Self.interval == 0, task?.isCancelled ?? Task.isCancelled else { return }
        throw LMDBError(.cancelled, "The task of the read was cancelled.")
    }
}
