import CLMDB
import Glibc

extension Folder {
    /// The bytes of LMDB's lock file: two cache lines, and one for each reader.
    private static func lockFileBytes(slots: Int) -> Int { 64 * (2 + slots) }

    /// What LMDB writes to whenever it opens the file: the memory page of its head. A file system whose blocks are
    /// smaller gives a page that is written all of its blocks, or kills who writes.
    private static var lockHeadBytes: Int { sysconf(Int32(_SC_PAGESIZE)) }
    private static let keepsSize: Int32 = 1  // FALLOC_FL_KEEP_SIZE

    /// Gives the lock file all of its blocks.
    ///
    /// LMDB maps it with holes. Who writes to one on a full disk is killed by SIGBUS: LMDB at the head of the file
    /// when it opens, and later a reader that takes a slot. Where there is space for the head alone, it is opened with
    /// the holes all the same.
    ///
    /// To be called only while this process does not have the file open: closing it gives the locks of
    /// the process back.
    ///
    /// - Parameter slots: The slots of readers; nil for the head alone.
    /// - Returns: 0, or `errno` if there is no space for the head.
    func allocateLockFile(slots: Int?) -> Int32 {
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        // LMDB says why.
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return 0 }
        if let slots {
            let bytes = max(Int(status.st_size), Self.lockFileBytes(slots: slots))
            if Int(status.st_blocks) * 512 >= bytes { return 0 }
            if fallocate(descriptor, 0, 0, bytes) == 0 { return 0 }
        }
        if fallocate(descriptor, Self.keepsSize, 0, Self.lockHeadBytes) == 0 { return 0 }
        let reason = errno
        return reason == ENOSPC || reason == EDQUOT ? reason : 0
    }

    /// Who has the environment open, as the beginning of a sentence: LMDB then holds a lock on its lock
    /// file, which is seen through a mount that is read-only too.
    ///
    /// To be called only while no environment of this process has locks there.
    func otherUser() throws(LMDBError) -> String? {
        let descriptor = open(lockPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw LMDBError(errno: errno, "open", path: lockPath)
        }
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_len = 1
        guard fcntl(descriptor, F_GETLK, &lock) == 0 else {
            throw LMDBError(errno: errno, "look at the locks of", path: lockPath)
        }
        if lock.l_type == Int16(F_UNLCK) { return nil }
        // The system knows no number in this PID namespace for a process of another one.
        return lock.l_pid > 0 ? "Process \(lock.l_pid)" : "A process of another container"
    }
}
