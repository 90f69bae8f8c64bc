import CLMDB
import Glibc

extension EnvironmentCore {
    /// The smallest map that is tried when the address space is limited.
    private static let mapBytesMin = 64 << 20

    /// Opens LMDB's environment, with a smaller map if the address space is limited.
    static func openPointer(
        _ folder: Folder, _ options: EnvironmentOptions
    ) throws(LMDBError) -> OpaquePointer {
        var mapBytes = options.mapBytes
        var flags = MDB_NOTLS
        if options.isReadOnly { flags |= MDB_RDONLY }
        // Nobody reads the unused parts of pages of a file that has no name.
        if folder.isUnlinked { flags |= MDB_NOMEMINIT }
        switch options.durability {
        case .full: break
        case .relaxed: flags |= MDB_NOMETASYNC
        case .none: flags |= MDB_NOSYNC
        }
        while true {
            let (pointer, status) = try tryOpen(folder, options, mapBytes, flags)
            if let pointer { return pointer }
            if status == ENOMEM, mapBytes / 2 >= mapBytesMin {
                mapBytes /= 2
            } else if [EACCES, ENOSPC, EDQUOT].contains(status), options.isReadOnly,
                flags & MDB_NOLOCK == 0
            {
                // As LMDB itself does on a read-only file system; see ``UnlockedReads``.
                flags |= MDB_NOLOCK
            } else {
                throw folder.openingFailed(status)
            }
        }
    }

    private static func tryOpen(
        _ folder: Folder, _ options: EnvironmentOptions, _ mapBytes: Int, _ flags: Int32
    ) throws(LMDBError) -> (OpaquePointer?, Int32) {
        var created: OpaquePointer?
        var status = mdb_env_create(&created)
        guard status == MDB_SUCCESS, let pointer = created else {
            throw LMDBError(status: status, "make an environment")
        }
        mdb_env_set_assert(pointer) { environment, _ in nameDamage(environment) }
        let page = sysconf(Int32(_SC_PAGESIZE))
        status = mdb_env_set_mapsize(pointer, (mapBytes + page - 1) / page * page)
        if status == 0 { status = mdb_env_set_maxreaders(pointer, UInt32(options.readersMax)) }
        if status == 0 { status = mdb_env_set_maxdbs(pointer, UInt32(options.databasesMax)) }
        if status == 0, flags & MDB_NOLOCK == 0 {
            status = folder.allocateLockFile(slots: options.isReadOnly ? nil : options.readersMax)
        }
        if status == 0 { status = mdb_env_open(pointer, folder.path, UInt32(flags), 0o600) }
        if status == 0 {
            // LMDB leaves the data file open in the programs that this process starts.
            var descriptor: mdb_filehandle_t = -1
            mdb_env_get_fd(pointer, &descriptor)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            return (pointer, 0)
        }
        mdb_env_close(pointer)
        return (nil, status)
    }

    /// Opens the named databases.
    ///
    /// - Parameter isNew: Makes them in a data file that was just made. They are never added to another one:
    ///   that commit would go around a journal, whose records would then follow a state that is gone.
    static func openDatabases(
        _ pointer: OpaquePointer, _ options: EnvironmentOptions, _ folder: Folder,
        isNew: Bool = false
    ) throws(LMDBError) -> [String: Database] {
        let status = try openDatabases(pointer, options, create: isNew)
        // LMDB locks the byte of the lock file that has the process's number as its place.
        if status == EAGAIN { throw .numberTaken(folder.path) }
        if status == MDB_NOTFOUND { throw .lacksDatabases(folder.path, options.databases) }
        if status == MDB_INCOMPATIBLE {
            throw LMDBError(
                .foreignFile,
                "'\(folder.path)' was written by another program. Check the path.",
                underlying: status)
        }
        guard status == MDB_SUCCESS else {
            throw LMDBError(status: status, "open the databases of '\(folder.path)'")
        }
        var databases: [String: Database] = [:]
        for (index, name) in options.databases.enumerated() {
            databases[name] = Database(index: index)
        }
        return databases
    }

    private static func openDatabases(
        _ pointer: OpaquePointer, _ options: EnvironmentOptions, create: Bool
    ) throws(LMDBError) -> Int32 {
        var begun: OpaquePointer?
        var status = mdb_txn_begin(pointer, nil, create ? 0 : UInt32(MDB_RDONLY), &begun)
        guard status == MDB_SUCCESS, let transaction = begun else { return status }
        for (index, name) in options.databases.enumerated() where status == MDB_SUCCESS {
            var handle: MDB_dbi = 0
            status = mdb_dbi_open(transaction, name, create ? UInt32(MDB_CREATE) : 0, &handle)
            guard status == MDB_SUCCESS else { break }
            precondition(
                handle == Database(index: index).handle, "The names of the databases repeat.")
            var flags: UInt32 = 0
            mdb_dbi_flags(transaction, handle, &flags)
            // A database of another kind sorts or stores otherwise than this module assumes.
            if flags & ~UInt32(MDB_CREATE) != 0 { status = MDB_INCOMPATIBLE }
        }
        guard status == MDB_SUCCESS else {
            mdb_txn_abort(transaction)
            return status
        }
        return CheckedCommitter().commit(transaction)
    }
}

extension LMDBError {
    /// LMDB tells the slots of processes apart by their numbers alone.
    fileprivate static func numberTaken(_ path: String) -> LMDBError {
        LMDBError(
            .busy,
            """
            A process of another PID namespace, such as another container, has '\(path)' open and the \
            number \(getpid()) there, as this one has here. Processes that share a store need numbers of \
            one PID namespace: run this one in the container of the other ('docker exec'), or give it \
            the same namespace ('docker run --pid=container:NAME').
            """, underlying: EAGAIN)
    }

    static func lacksDatabases(_ path: String, _ names: [String]) -> LMDBError {
        LMDBError(
            .foreignFile,
            """
            '\(path)' lacks one of the databases \(names): another program may have written it. Check \
            the path.
            """, underlying: MDB_NOTFOUND)
    }
}

/// Says on standard error which folder is damaged, before LMDB says where in its code it noticed that, and ends
/// the process. It does so only while it writes, and no error can be thrown from there.
private func nameDamage(_ pointer: OpaquePointer?) {
    var path: UnsafePointer<CChar>?
    if let pointer { mdb_env_get_path(pointer, &path) }
    let text = """
        '\(path.map { String(cString: $0) } ?? "?")' has a damaged page, and this process ends rather than write \
        to it. What was committed is as it was. Run 'backstitch doctor' on the folder.

        """
    _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
}
