import Glibc

/// A closure that tests put before every commit.
final class CommitHook: @unchecked Sendable {  // Protected by the pthread mutex.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var stored: (@Sendable () throws -> Void)?

    init() {
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    var closure: (@Sendable () throws -> Void)? {
        get {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return stored
        }
        set {
            pthread_mutex_lock(lock)
            stored = newValue
            pthread_mutex_unlock(lock)
        }
    }
}
