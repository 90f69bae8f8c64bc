import CLMDB
import Glibc

/// The folder of an environment: `data.mdb`, `lock.mdb`, and for some also `journal`.
struct Folder: Sendable {
    let path: String
    /// Whether the files were unlinked right after opening.
    var isUnlinked = false

    var dataPath: String { path + "/data.mdb" }
    var lockPath: String { path + "/lock.mdb" }
    var journalPath: String { path + "/journal" }

    init(path: String) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    /// The folder that contains this one.
    var parent: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    var name: String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// Makes sure that the folder and its data file are there and may be opened.
    func prepare(_ options: EnvironmentOptions) throws(LMDBError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw LMDBError(.notFoundPath, "The path of the folder is empty or has a zero byte.")
        }
        let status = try FileKey.status(of: path)
        if let status, status.st_mode & S_IFMT != S_IFDIR {
            throw LMDBError(.notADirectory, "'\(path)' is a file. Give the path of a folder.")
        }
        if !options.allowsNetworkFileSystem {
            try FileSystem.refuseNetwork(status == nil ? parent : path)
        }
        if try FileKey(path: dataPath) != nil { return }
        guard options.createsIfMissing, !options.isReadOnly else {
            throw LMDBError(
                .notFoundPath,
                "'\(path)' contains no data.mdb. Check the path, or allow to create it.")
        }
        try create(options)
    }

    /// Checks the data file with `pread`, so that LMDB isn't handed one that would crash it, or one of
    /// another program, beside which LMDB would make a lock file.
    ///
    /// Only while no environment of this process has it open: closing a descriptor of the file
    /// gives up the process's locks.
    func checkDataFile(_ options: EnvironmentOptions) throws(LMDBError) {
        try DataFile.check(path: dataPath)
        // If the pages don't say, LMDB finds out; it adds no database either.
        guard try DataFile.match(options.databases, at: dataPath) != .lacking else {
            throw .lacksDatabases(path, options.databases)
        }
    }

    /// The error for a failed `mdb_env_open`.
    func openingFailed(_ status: Int32) -> LMDBError {
        switch status {
        case EROFS: return readOnly(status)
        case EACCES:
            // The data file opens for reading before the lock file is made, so find out which.
            let descriptor = Glibc.open(dataPath, O_RDWR | O_CLOEXEC)
            guard descriptor >= 0 else { break }
            Glibc.close(descriptor)
            return readOnly(status)
        default: break
        }
        return LMDBError(status: status, "open '\(path)'")
    }

    private func readOnly(_ status: Int32) -> LMDBError {
        LMDBError(
            .readOnlyDirectory,
            "'\(path)' can't be written. Open it for reading only, or change its mode or place.",
            underlying: status)
    }
}
