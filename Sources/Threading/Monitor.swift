import Glibc

/// A mutex with a condition: threads that hold it can wait until others have changed what it
/// protects.
///
/// The state belongs to whoever has the monitor, which holds it from ``enter()`` to ``leave()``.
/// If nobody waits, ``Locked`` is enough and keeps the state itself.
package final class Monitor: @unchecked Sendable {  // Both are made to be shared by threads.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        pthread_mutex_init(mutex, nil)
        // Times to wait are steady: the clock on the wall may be set.
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Waits until no other thread is inside. A thread that is inside already waits forever.
    package func enter() { pthread_mutex_lock(mutex) }

    package func leave() { pthread_mutex_unlock(mutex) }

    /// Runs a closure inside.
    @inlinable
    package func inside<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        enter()
        defer { leave() }
        return try body()
    }

    /// Leaves, waits until another thread has called ``signal()`` or ``broadcast()``, and enters
    /// again. It may return without that, so the caller looks whether what it waits for has come.
    package func wait() { pthread_cond_wait(changed, mutex) }

    /// As ``wait()``, for a time at most.
    ///
    /// - Returns: Whether it returned before the time was up.
    package func wait(milliseconds: Int) -> Bool {
        var until = timespec()
        clock_gettime(CLOCK_MONOTONIC, &until)
        let nanoseconds = until.tv_nsec + milliseconds % 1000 * 1_000_000
        until.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        until.tv_nsec = nanoseconds % 1_000_000_000
        return pthread_cond_timedwait(changed, mutex, &until) == 0
    }

    /// Wakes one thread that waits.
    package func signal() { pthread_cond_signal(changed) }

    /// Wakes all threads that wait.
    package func broadcast() { pthread_cond_broadcast(changed) }
}
