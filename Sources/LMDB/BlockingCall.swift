import Glibc

/// A call that another thread performs while the caller waits.
final class BlockingCall<R: Sendable>: @unchecked Sendable {  // Protected by the pthread mutex.
    private var work: (@Sendable () throws -> R)?
    private var result: Result<R, any Error>?
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ work: @escaping @Sendable () throws -> R) {
        self.work = work
        pthread_mutex_init(lock, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    func run() {
        let outcome = perform()
        pthread_mutex_lock(lock)
        result = outcome
        pthread_cond_signal(changed)
        pthread_mutex_unlock(lock)
    }

    /// Releases the closure before the caller goes on, because it doesn't outlive the call.
    private func perform() -> Result<R, any Error>? {
        defer { work = nil }
        return work.map { work in Result { try work() } }
    }

    func wait() throws -> R {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let result { return try result.get() }
            pthread_cond_wait(changed, lock)
        }
    }
}
