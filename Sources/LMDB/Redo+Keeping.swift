import CLMDB
import Glibc
import Threading

/// The keeper: a thread that lives while the redo file is in use, syncs the data file when the
/// base is to move, and ends the use when nothing was written for a while.
extension Redo {
    /// Starts the thread; the state is held.
    func startKeeper() {
        if keeper == nil { keeper = SystemThread { self.keep() } }
    }

    /// Ends the use of the redo file, and the thread. Nothing is written any more.
    func close() {
        monitor.enter()
        isClosing = true
        monitor.broadcast()
        let thread = keeper
        monitor.leave()
        thread?.join()
        // What remains unsynced is in the redo file; the next opener syncs or recovers it.
        try? monitor.inside { () throws(LMDBError) in try retire() }
        monitor.enter()
        endActive()
        monitor.leave()
    }

    private func keep() {
        monitor.enter()
        defer { monitor.leave() }
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
        monitor.leave()
        let status = mdb_env_sync(pointer, 1)
        monitor.enter()
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
            monitor.wait()
            return true
        }
        return monitor.wait(milliseconds: Self.idleMilliseconds)
    }
}
