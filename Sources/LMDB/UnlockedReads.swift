import CLMDB
import Synchronization

/// Reads of an environment whose lock file this process can't write to: where nothing can be written, as on
/// a file system or a mount that is read-only, or where another user alone may.
///
/// They have no slots in the lock file, so that writers don't know of them. LMDB uses pages again that a
/// snapshot has from the second commit behind it on (`mdb_page_alloc`). So a read counts unless there were
/// two commits since, and none begins while somebody has the environment open who could make them.
struct UnlockedReads {
    private let pointer: OpaquePointer
    private let folder: Folder

    /// - Returns: `nil` if reads have slots.
    init?(_ pointer: OpaquePointer, _ folder: Folder) {
        guard !ReaderList(of: pointer).isThere else { return nil }
        (self.pointer, self.folder) = (pointer, folder)
    }

    /// Throws `busy` if another process has the environment open.
    func refuseUsers() throws(LMDBError) {
        guard let user = try folder.otherUser() else { return }
        throw LMDBError(
            .busy,
            """
            \(user) has '\(folder.path)' open. This process can't write to 'lock.mdb' there, and \
            without that it can't keep others from changing pages that it reads. Give it the right to \
            write: mount the folder writable, or run it as the same user. Or close the store there, or \
            read a backup.
            """)
    }

    /// The id of the last commit.
    var lastCommit: UInt64 {
        var info = MDB_envinfo()
        mdb_env_info(pointer, &info)
        return UInt64(info.me_last_txnid)
    }

    /// Throws `busy` if pages of a commit may have been changed until now.
    func check(since commit: UInt64) throws(LMDBError) {
        // All that was read comes before the look at the last commit.
        atomicMemoryFence(ordering: .acquiring)
        guard lastCommit > commit + 1 else { return }
        throw LMDBError(
            .busy,
            """
            Another process wrote to '\(folder.path)' while this one read without the right to write to \
            'lock.mdb' there. The result of the read does not count. Try again. To read beside writers, \
            mount the folder writable, or run as the same user.
            """)
    }
}
