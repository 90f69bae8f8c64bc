import CLMDB
import Glibc

extension Folder {
    /// Takes over a folder in which an earlier version had a file `redo`: puts the data file on disk,
    /// and removes the file. Does nothing without one.
    ///
    /// To be called before the data file is used, while no environment of this process has it open.
    ///
    /// - Throws: `damaged` if the last commits are in the file only, as after a power cut; `busy` if another
    ///   process has the environment open; `readOnlyDirectory`, `io`.
    func endRedoFile(_ options: EnvironmentOptions) throws(LMDBError) {
        guard try FileKey(path: redoPath) != nil else { return }
        try refuseLostCommits(on: options.boot)
        // Nobody who only reads needs more: what was written can be seen.
        guard !options.isReadOnly else { return }
        if let user = try otherUser() {
            // A process of this version may have removed it just now, and opened the environment.
            guard try FileKey(path: redoPath) != nil else { return }
            throw LMDBError(
                .busy,
                """
                Process \(user) has '\(path)' open with an earlier version of the program. End that \
                process, then try again.
                """)
        }
        try Self.sync(dataPath)
        guard unlink(redoPath) == 0 || errno == ENOENT else {
            throw LMDBError(errno: errno, "remove", path: redoPath)
        }
        try Self.sync(path)
    }

    /// Throws if an earlier version left commits in a file `redo` that the data file may lack.
    func refuseLostCommits(on boot: BootID?) throws(LMDBError) {
        guard let header = try RedoHeader.read(in: self), header.needsRecovery(on: boot) else {
            return
        }
        throw LMDBError(
            .damaged,
            """
            The last commits of '\(path)' are in the file 'redo', which an earlier version wrote \
            before the system ended. Open it once with that version. If the data file was put in \
            place on purpose, or that version can't open it, delete the file 'redo'.
            """)
    }

    /// A process that has the environment open: LMDB then holds a lock on its lock file.
    ///
    /// To be called only while no environment of this process has it open.
    func otherUser() throws(LMDBError) -> pid_t? {
        let descriptor = open(lockPath, O_RDWR | O_CLOEXEC)
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
        return lock.l_type == Int16(F_UNLCK) ? nil : lock.l_pid
    }
}
