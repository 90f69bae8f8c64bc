import Glibc

/// The right to put another data file in the place of a folder's: a lock on the file `repair.lock`,
/// which is there only meanwhile. Whoever opens the environment looks for it first.
struct RepairLock: ~Copyable {
    private let descriptor: Int32
    private let path: String

    init(_ folder: Folder) throws(LMDBError) {
        // The properties come last: once they are set, a failure would end in the `deinit`, which
        // removes the file of whoever has the right.
        let path = folder.repairLockPath
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "create", path: path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            close(descriptor)
            guard reason == EWOULDBLOCK else {
                throw LMDBError(errno: reason, "lock", path: path)
            }
            throw .isBeingRepaired(folder.path)
        }
        // Who had it may have removed the file since it was opened here; another has a new one then.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            FileLease.close(locked: descriptor)
            throw .isBeingRepaired(folder.path)
        }
        self.path = path
        self.descriptor = descriptor
    }

    /// Gives the right back; until then it lasts.
    consuming func release() {}

    deinit {
        unlink(path)
        FileLease.close(locked: descriptor)
    }
}

extension Folder {
    fileprivate var repairLockPath: String { path + "/repair.lock" }

    /// Throws while somebody repairs the folder. What a crash left of the lock does not count.
    func refuseDuringRepair() throws(LMDBError) {
        let descriptor = open(repairLockPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { FileLease.close(locked: descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        throw .isBeingRepaired(path)
    }
}

extension LMDBError {
    fileprivate static func isBeingRepaired(_ path: String) -> LMDBError {
        LMDBError(
            .beingReplaced,
            """
            '\(path)' is being repaired, or brought to a new format, by another process. Try again \
            later.
            """)
    }
}
