import BackstitchCore
import LMDB
import Threading

extension Store {
    /// Gives some free pages back behind a commit, if its pace says so; on the writer thread.
    ///
    /// A failure ends it until the store is opened again: what was written is not affected, and
    /// ``compact(_:progress:)`` tells of it.
    func releaseSpaceInPassing() {
        var pace = releasePace.withLock { $0 }
        let step = pace.next()
        do {
            switch step {
            case .nothing: break
            case .look:
                let free = try environment.allocatedBytes - environment.info.usedBytes
                pace.found(freeBytes: free, allocatedBytes: try environment.allocatedBytes)
            case .release(let below):
                let done = try environment.releaseFreePages(below: below)
                pace.released(next: done.next, isSupported: done.isSupported)
            }
        } catch {
            pace.stop()
        }
        releasePace.withLock { $0 = pace }
    }
}
