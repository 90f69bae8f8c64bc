import Glibc

extension EnvironmentFiles {
    /// Reads one value of a file that this process doesn't have open, and changes nothing: not even
    /// a lock file is made.
    ///
    /// For a look at a folder before it is opened, because opening any LMDB file makes a lock file
    /// beside it, and for writing also the databases that it lacks. The pages are read with `pread`
    /// and checked, so that no file can do harm.
    ///
    /// - Parameter visitsAllPages: Checks all pages in use if there is no lock file, so that nobody
    ///   writes. If there is one, use ``Environment/checkPages()`` after opening.
    /// - Returns: the value; `nil` if the key or the database isn't there.
    /// - Throws: `busy` if this process has the file open, or if writers never pause; for the
    ///   folder and the file what ``Environment/open(at:options:)`` throws.
    package func peek(
        options: EnvironmentOptions, database: String, key: String,
        visitsAllPages: Bool = false
    ) throws(LMDBError) -> [UInt8]? {
        let folder = folder
        var options = options
        options.createsIfMissing = false
        try folder.prepare(options)
        return try EnvironmentRegistry.shared.whileClosed(folder) { () throws(LMDBError) in
            if visitsAllPages, try FileKey(path: folder.lockPath) == nil {
                try DataFile.check(path: folder.dataPath, visitsAllPages: true)
            }
            if !options.isReadOnly, access(folder.dataPath, W_OK) != 0 {
                throw LMDBError(errno: errno, "write to", path: folder.dataPath)
            }
            return try DataFile.value(
                of: Array(key.utf8), inDatabase: database, in: folder,
                number: options.databases.firstIndex(of: database).map { UInt16($0) })
        }
    }

    /// Whether the data file has a key, as far as its pages tell. Nothing is changed, whoever
    /// wrote the file. What waits in a journal doesn't count.
    package func has(key: String, inDatabase database: String) -> Bool {
        let value = try? DataFile.value(
            of: Array(key.utf8), inDatabase: database, in: folder, number: nil)
        return (value ?? nil) != nil
    }

    /// How the databases of the data file compare with the names of some, as far as its pages tell.
    /// Nothing is changed, whoever wrote the file.
    ///
    /// - Returns: `nil` if there is no data file, and if its pages don't say.
    /// - Throws: `foreignFile` or `versionMismatch` if it is no LMDB file of this version; `notADirectory`,
    ///   `permissionDenied`.
    package func match(_ names: [String]) throws(LMDBError) -> DatabaseMatch? {
        guard try FileKey(path: folder.dataPath) != nil else { return nil }
        return try DataFile.match(names, at: folder.dataPath)
    }
}

/// How the databases of a data file compare with the names of some.
package enum DatabaseMatch: Sendable {
    /// One of them isn't there: another program wrote the file.
    case lacking
    /// They are there, and nothing else is.
    case exact
    /// They are there with other entries, such as the databases of another program.
    case more
}

extension DataFile {
    /// How often a look-up starts again because a writer committed meanwhile.
    private static let lookupsMax = 64

    /// The id of the last commit.
    static func lastCommit(at path: String) throws(LMDBError) -> UInt64 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: path) }
        defer { close(descriptor) }
        return UInt64(try DataFile(descriptor: descriptor, path: path).newestMeta().transaction)
    }

    /// The value of a key in a named database.
    ///
    /// - Parameter number: The database's, to see what waits in a journal; `nil` not to.
    static func value(
        of key: [UInt8], inDatabase name: String, in folder: Folder, number: UInt16?
    ) throws(LMDBError) -> [UInt8]? {
        try inOneCommit(of: folder.dataPath) { (file, meta) throws(LMDBError) -> [UInt8]? in
            var walk = try PageWalk(file: file, meta: meta)
            let stored = try walk.value(of: key, inDatabase: name)
            guard let number else { return stored }
            let change = try WaitingRecords(in: folder, behind: file)
                .change(of: key, inDatabase: number)
            return change ?? stored
        }
    }

    /// How the databases of a file compare with the names of some.
    ///
    /// - Returns: `nil` if its pages don't say: they are damaged, or writers never pause.
    /// - Throws: As ``check(path:visitsAllPages:)`` for a file that is none of LMDB's.
    static func match(
        _ names: [String], at path: String
    ) throws(LMDBError) -> DatabaseMatch? {
        do throws(LMDBError) {
            return try inOneCommit(of: path) { (file, meta) throws(LMDBError) -> DatabaseMatch in
                for name in names {
                    var walk = try PageWalk(file: file, meta: meta)
                    if try walk.tree(named: name) == nil { return .lacking }
                }
                var walk = try PageWalk(file: file, meta: meta)
                let hasPosition = try walk.unnamedValue(of: JournalState.name) != nil
                let expected = names.count + (hasPosition ? 1 : 0)
                return meta.mainRoot.counts.entries > expected ? .more : .exact
            }
        } catch {
            guard [.busy, .damaged, .truncated, .io].contains(error.code) else { throw error }
            return nil
        }
    }

    /// Looks something up in the pages of one commit.
    private static func inOneCommit<R>(
        of path: String, _ body: (DataFile, MetaPage) throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: path) }
        defer { close(descriptor) }
        let file = DataFile(descriptor: descriptor, path: path)
        for _ in 0..<lookupsMax {
            let meta = try file.newestMeta()
            let result: Result<R, LMDBError>
            do throws(LMDBError) {
                result = .success(try body(file, meta))
            } catch {
                result = .failure(error)
            }
            // A commit meanwhile may have used the pages again that were read.
            if try file.newestMeta().transaction == meta.transaction { return try result.get() }
        }
        throw LMDBError(.busy, "'\(path)' is written to all the time. Try again.")
    }
}

extension PageWalk {
    /// - Throws: `io` if the file's size can't be looked up.
    fileprivate init(file: DataFile, meta: MetaPage) throws(LMDBError) {
        self.init(file: file, meta: meta, pageCount: try file.byteCount() / meta.pageBytes)
    }
}
