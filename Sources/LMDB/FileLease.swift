import Glibc

/// A role that one holder at a time has among all processes: a lock on a file, which the system
/// takes away when its holder ends, however that happens.
package final class FileLease: Sendable {
    private let descriptor: Int32

    private init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { Self.close(locked: descriptor) }

    /// Closes a file that may be locked (`flock`), and gives its lock back.
    ///
    /// Closing alone is not enough: the lock belongs to the opened file, and a child process has that
    /// too between its fork and its exec.
    package static func close(locked descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        Glibc.close(descriptor)
    }

    /// Takes the lease if nobody has it. It is given back when the result is released.
    ///
    /// - Parameter path: The path of the file, which is made if it isn't there and never removed.
    /// - Returns: `nil` if somebody else has it.
    /// - Throws: `permissionDenied`, `readOnlyDirectory`, `notFoundPath` or `io` about the file.
    package static func take(at path: String) throws(LMDBError) -> FileLease? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: path) }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            if reason == EINTR { continue }
            Glibc.close(descriptor)
            if reason == EWOULDBLOCK { return nil }
            throw LMDBError(errno: reason, "lock", path: path)
        }
        return FileLease(descriptor: descriptor)
    }

    /// Whether a process of this system has locked a file as a whole.
    ///
    /// It asks the system's list of locks, and never takes the lock: somebody else might want it at that
    /// moment. Processes of other containers may be missing in the list.
    package static func isTaken(at path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0,
            let list = SmallFile.bytes("/proc/locks", max: 1 << 24)
        else { return false }
        let end = ":\(status.st_ino)"
        // Such as `3: FLOCK  ADVISORY  WRITE 20188 fe:00:16220261 0 EOF`; who waits has an arrow.
        return String(decoding: list, as: UTF8.self).split(separator: "\n").contains { line in
            let words = line.split(separator: " ")
            return words.count > 5 && words[1] == "FLOCK" && words[5].hasSuffix(end)
        }
    }
}

extension Environment {
    /// Whether other processes can open the environment too.
    package var isOnDisk: Bool { !core.folder.isUnlinked }
}
