import CLMDB
import Glibc

extension Folder {
    /// Makes the data file elsewhere, syncs it, and moves it into place.
    ///
    /// LMDB writes a new file in place and doesn't sync its folder, so a crash could leave a file
    /// that can't be opened. Here the folder has either a complete data file or none. If another
    /// process creates it at the same time, the first one wins.
    func create(_ options: EnvironmentOptions) throws(LMDBError) {
        let staging = try StagingFolder(of: self)
        try staging.folder.fill(options)
        try staging.sync()
        if try FileKey(path: path) == nil {
            if rename(staging.folder.path, path) == 0 { return try Self.sync(parent) }
            guard errno == ENOTEMPTY || errno == EEXIST else {
                throw LMDBError(errno: errno, "create", path: path)
            }
        }
        if link(staging.folder.dataPath, dataPath) != 0, errno != EEXIST {
            let reason = errno
            // File systems without hard links: there a concurrent creator isn't noticed.
            guard reason == EPERM || reason == ENOTSUP,
                rename(staging.folder.dataPath, dataPath) == 0
            else { throw LMDBError(errno: reason, "create", path: dataPath) }
        }
        try Self.sync(path)
        try Self.sync(parent)
    }

    /// Makes a folder with a name that nothing else has.
    static func makeUnique(in parent: String, prefix: String) throws(LMDBError) -> Folder {
        var template = Array((parent + "/" + prefix + "XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = errno
            if reason == EROFS || reason == EACCES {
                throw LMDBError(
                    .readOnlyDirectory,
                    "Nothing can be created in '\(parent)'. Change its mode, or use another path.",
                    underlying: reason)
            }
            throw LMDBError(errno: reason, "create a folder in", path: parent)
        }
        let bytes = template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return Folder(path: String(decoding: bytes, as: UTF8.self))
    }

    /// Removes the folder with its files, if they are still there.
    func remove() {
        unlink(dataPath)
        unlink(lockPath)
        unlink(journalPath)
        rmdir(path)
    }

    /// Writes an environment with empty databases, and leaves no lock file.
    private func fill(_ options: EnvironmentOptions) throws(LMDBError) {
        var options = options
        options.durability = .full
        let pointer = try EnvironmentCore.openPointer(self, options)
        defer {
            mdb_env_close(pointer)
            unlink(lockPath)
        }
        _ = try EnvironmentCore.openDatabases(pointer, options, self, isNew: true)
    }

    /// Makes a file, or the names in a folder, survive a power cut.
    static func sync(_ path: String) throws(LMDBError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: path) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw LMDBError(errno: errno, "sync", path: path) }
    }
}
