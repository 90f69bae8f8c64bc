import CLMDB
import Glibc
import Threading

/// Commits LMDB's transactions, and tells a write that was cut short from a device that fails.
///
/// LMDB writes pages to the file, syncs it, and writes the meta page, which makes the commit count.
/// If the system takes only a part of the pages, as it does when the disk gets full in the middle,
/// LMDB gives up with `EIO`, which is also what a failing sync gives. They are not the same: no sync
/// failed, and the pages that were written are used by nothing. `errno` tells them apart. It is set to
/// zero before, and no function ever does that, so that it is zero afterwards only if no call to the
/// system failed. Then the commit met a short write and nothing else.
final class CheckedCommitter: Sendable {
    /// What a test lets the next commit meet; nil for nothing.
    struct Fault {
        var next: (@Sendable () -> CommitFault?)?
    }

    let fault = Locked(Fault())

    /// Commits a transaction, or ends it.
    ///
    /// - Returns: LMDB's status; `ENOSPC` for a write that was cut short.
    func commit(_ transaction: OpaquePointer) -> Int32 {
        if let fault = fault.withLock(\.next)?() {
            mdb_txn_abort(transaction)
            return Self.meaning(of: fault == .noSpace ? ENOSPC : EIO, reason: fault.reason)
        }
        errno = 0
        let status = mdb_txn_commit(transaction)
        let reason = errno
        return Self.meaning(of: status, reason: reason)
    }

    /// - Parameter reason: `errno` after the commit, which was zero before.
    static func meaning(of status: Int32, reason: Int32) -> Int32 {
        status == EIO && reason == 0 ? ENOSPC : status
    }
}

/// A failure of the device that a test puts in the place of a commit.
package enum CommitFault: Sendable {
    /// There is no block left.
    case noSpace
    /// Some of the pages were written, and then there was no block left.
    case shortWrite

    fileprivate var reason: Int32 { self == .noSpace ? ENOSPC : 0 }
}

extension Environment {
    /// Asked before every commit what it meets instead; nil lets it happen. For tests. All handles of
    /// a file share it.
    package func setCommitFault(_ fault: (@Sendable () -> CommitFault?)?) {
        core.committer.fault.withLock { $0.next = fault }
    }
}
