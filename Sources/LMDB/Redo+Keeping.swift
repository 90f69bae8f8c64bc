import CLMDB
import Glibc

/// The keeper: a thread that lives while the redo file is in use, syncs the data file when the
/// base is to move, and ends the use when nothing was written for a while.
extension Redo {
    private final class Keeper: Sendable {
        let redo: Redo
        init(_ redo: Redo) { self.redo = redo }
    }

    /// Starts the thread; the state is held.
    func startKeeper() {
        guard keeper == nil else { return }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Keeper(self)).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Keeper>.fromOpaque(context).takeRetainedValue().redo.keep()
                return nil
            }, context)
        precondition(status == 0, "The system has no thread left to sync the data: \(status).")
        keeper = thread
    }

    /// Ends the use of the redo file, and the thread. Nothing is written any more.
    func close() {
        pthread_mutex_lock(lock)
        isClosing = true
        pthread_cond_broadcast(changed)
        let thread = keeper
        pthread_mutex_unlock(lock)
        if let thread { pthread_join(thread, nil) }
        // What remains unsynced is in the redo file; the next opener syncs or recovers it.
        try? exclusively { () throws(LMDBError) in try retire() }
        pthread_mutex_lock(lock)
        endActive()
        pthread_mutex_unlock(lock)
    }

    private func keep() {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while !isClosing || active?.next != nil {
            if active?.next != nil {
                syncForBase()
            } else if !waitForWork(), let current = active {
                if current.isBusy {
                    active?.isBusy = false
                } else {
                    try? retire()
                }
            }
        }
    }

    /// Syncs the data file while writes go on, and adopts the base.
    private func syncForBase() {
        pthread_mutex_unlock(lock)
        let status = mdb_env_sync(pointer, 1)
        pthread_mutex_lock(lock)
        do throws(LMDBError) {
            if status == MDB_SUCCESS { return try adoptBase() }
            dataIsLost()
        } catch {
            dataIsLost()
        }
        endActive()
    }

    /// - Returns: Whether it was woken; `false` when the time was up.
    private func waitForWork() -> Bool {
        guard active != nil else {
            pthread_cond_wait(changed, lock)
            return true
        }
        var until = timespec()
        clock_gettime(CLOCK_REALTIME, &until)
        let nanoseconds = until.tv_nsec + Self.idleMilliseconds % 1000 * 1_000_000
        until.tv_sec += Self.idleMilliseconds / 1000 + nanoseconds / 1_000_000_000
        until.tv_nsec = nanoseconds % 1_000_000_000
        return pthread_cond_timedwait(changed, lock, &until) == 0
    }
}
