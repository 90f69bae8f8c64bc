import Glibc

extension EnvironmentFiles {
    /// Whether the folder has a data file, whatever that is like.
    package var hasData: Bool {
        (try? FileKey(path: folder.dataPath)) != nil
    }

    /// Puts another data file in the place of the folder's, and keeps the old one as it is.
    ///
    /// The new file appears at once, complete, checked and on disk. The old one and its file `journal` get names in another folder, which is there, before; not one byte of them is changed. Nobody may have the
    /// environment open, and nobody can open it meanwhile.
    ///
    /// - Parameters:
    ///   - kept: Where the old files go: a folder on the same disk, without such files.
    ///   - fill: Makes an environment in the folder that it gets, and closes it. If it throws, nothing
    ///     is changed.
    /// - Throws: `busy` if the environment is open; `other` if `kept` has a data file;
    ///   `readOnlyDirectory`, `permissionDenied`, `diskFull` or `io`; what `fill` throws.
    package func replaceData(
        keepingOldIn kept: String, fill: (String) throws -> Void
    ) throws {
        let old = Folder(path: kept)
        guard try FileKey(path: old.dataPath) == nil else {
            throw LMDBError(.other, "'\(old.path)' has a data file. Keep the old one elsewhere.")
        }
        let lock = try RepairLock(folder)
        try folder.refuseOpen()
        let staging = try StagingFolder(of: folder)
        try fill(staging.folder.path)
        try DataFile.check(path: staging.folder.dataPath, visitsAllPages: true)
        unlink(staging.folder.lockPath)
        unlink(staging.folder.journalPath)
        try staging.sync()
        try folder.refuseOpen()
        try folder.link(to: old)
        guard rename(staging.folder.dataPath, folder.dataPath) == 0 else {
            throw LMDBError(errno: errno, "replace", path: folder.dataPath)
        }
        // It speaks of the old file.
        unlink(folder.journalPath)
        try Folder.sync(folder.path)
        lock.release()
    }
}

extension Folder {
    /// Throws if this or another process has the environment open.
    func refuseOpen() throws(LMDBError) {
        try EnvironmentRegistry.shared.whileClosed(self) { () throws(LMDBError) in
            guard let user = try otherUser() else { return }
            throw LMDBError(
                .busy,
                "\(user) has '\(path)' open. End that process, then try again.")
        }
    }

    /// Gives the data file and what goes with it a second name in a new folder.
    fileprivate func link(to other: Folder) throws(LMDBError) {
        let names = [(dataPath, other.dataPath), (journalPath, other.journalPath)]
        for (from, to) in names {
            if Glibc.link(from, to) == 0 { continue }
            let reason = errno
            if reason == ENOENT, from != dataPath { continue }
            guard reason == EPERM || reason == ENOTSUP else {
                throw LMDBError(errno: reason, "create", path: to)
            }
            // A file system without hard links: the old file moves, and there is none for a moment.
            guard rename(from, to) == 0 else {
                throw LMDBError(errno: errno, "create", path: to)
            }
        }
        try Self.sync(other.path)
        try Self.sync(other.parent)
    }
}

extension EnvironmentFiles {
    /// Puts the data file of another folder in the place of this one's, which is gone then.
    ///
    /// The new file appears at once, complete, checked and on disk. Nobody may have either environment
    /// open, and nobody can open the one that is replaced meanwhile.
    ///
    /// - Parameters:
    ///   - source: A folder on the same disk.
    ///   - commit: The id of the last commit of the file that is replaced; nothing is changed if there was
    ///     another one since.
    ///   - lock: Keeps others from opening the environment.
    /// - Throws: `busy` if an environment is open, or was written to; `damaged` if the new file is;
    ///   `readOnlyDirectory`, `permissionDenied`, `diskFull` or `io`.
    func replaceData(
        movingFrom source: String, after commit: UInt64, holding lock: consuming RepairLock
    ) throws {
        let source = Folder(path: source)
        try source.refuseOpen()
        try folder.refuseOpen()
        guard try DataFile.lastCommit(at: folder.dataPath) == commit,
            try !folder.hasWaitingRecords
        else {
            throw LMDBError(
                .busy, "Another process wrote to '\(folder.path)' meanwhile. Try again.")
        }
        try DataFile.check(path: source.dataPath, visitsAllPages: true)
        try Folder.sync(source.dataPath)
        // It speaks of the old data file, and must not be found beside the new one. Once the old one is
        // on disk, nothing needs it.
        try Folder.sync(folder.dataPath)
        guard unlink(folder.journalPath) == 0 || errno == ENOENT else {
            throw LMDBError(errno: errno, "remove", path: folder.journalPath)
        }
        try Folder.sync(folder.path)
        guard rename(source.dataPath, folder.dataPath) == 0 else {
            throw LMDBError(errno: errno, "replace", path: folder.dataPath)
        }
        try Folder.sync(folder.path)
        lock.release()
    }
}
