import CLMDB
import Glibc

extension Folder {
    /// The bytes of LMDB's lock file: two cache lines, and one for each reader.
    private static func lockFileBytes(slots: Int) -> Int { 64 * (2 + slots) }

    /// Gives the lock file all of its blocks.
    ///
    /// LMDB maps it with holes. A reader that took a slot in one on a full disk would be killed by
    /// SIGBUS. If there is no space even now, it is opened with the holes all the same.
    ///
    /// To be called only while this process does not have the file open: closing it gives the locks of
    /// the process back.
    func allocateLockFile(slots: Int) {
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return }
        let bytes = max(Int(status.st_size), Self.lockFileBytes(slots: slots))
        guard Int(status.st_blocks) * 512 < bytes else { return }
        _ = fallocate(descriptor, 0, 0, bytes)
    }
}
