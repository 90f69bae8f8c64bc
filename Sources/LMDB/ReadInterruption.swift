/// Ends a read soon after its task was cancelled.
///
/// Moves of cursors and look-ups are steps. Belongs to one read, on one thread.
@usableFromInline
package final class ReadInterruption {
    /// The number of steps between two looks at the task.
    package static let interval = 256

    /// The steps until now.
    package private(set) var count = 0

    package init() {}

    /// Counts a step.
    ///
    /// - Throws: `cancelled` at every 256th step if the task was cancelled.
    @usableFromInline
    func step() throws(LMDBError) {
        count &+= 1
        guard count % Self.interval == 0, Task.isCancelled else { return }
        throw LMDBError(.cancelled, "The task of the read was cancelled.")
    }
}
