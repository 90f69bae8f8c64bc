import CLMDB
import Glibc

extension Folder {
    /// Takes over a folder in which an earlier version had a file `redo`: puts the data file on disk,
    /// and removes the file. Does nothing without one.
    ///
    /// To be called before LMDB uses the data file, and only for one that is no foreign file, while no
    /// environment of this process has it open.
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
                \(user) has '\(path)' open with an earlier version of the program. End that \
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
            before the system ended. Keep both files, and open the folder once with that version. If \
            you put the data file in place on purpose, or that version can't open it, move 'redo' to \
            another folder.
            """)
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
