package import Glibc

/// A value behind a lock, for state that is touched for moments only.
///
/// The state is no closure, nor an optional one, but a struct that has it. A closure that is a generic
/// value is wrapped by the compiler each time it is passed `inout`, and a call goes through all wrappers:
/// after some ten thousand looks at it the stack is full.
///
/// A pthread mutex, because the thread sanitizer does not understand `Synchronization.Mutex` here. A state
/// without bytes is refused: the sanitizer sees it behind the object, and takes that for a race.
package final class Locked<State>: @unchecked Sendable {  // Every access holds the mutex.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var state: State

    /// A lock around an initial value.
    package init(_ state: sending State) {
        precondition(MemoryLayout<State>.size > 0, "A lock guards a value that has bytes.")
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        self.state = state
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs a closure while holding the lock. It must not wait for anything, nor lock again.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
