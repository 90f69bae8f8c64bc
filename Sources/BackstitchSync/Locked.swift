import Foundation

/// A value that one task at a time reads or changes.
///
/// The closure is synchronous, so that the lock is never held across an `await`. It must not call
/// back into the same value: the lock is not recursive.
package final class Locked<State: Sendable>: Sendable {
    private let lock = NSLock()
    nonisolated(unsafe) private var state: State  // Only touched while `lock` is held.

    /// A value to be guarded.
    package init(_ state: State) {
        self.state = state
    }

    /// Runs a closure with sole access to the value; throws what the closure throws.
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&state)
    }
}
