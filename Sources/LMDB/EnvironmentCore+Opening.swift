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
            } else if status == EACCES, options.isReadOnly, flags & MDB_NOLOCK == 0 {
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
        let page = sysconf(Int32(_SC_PAGESIZE))
        status = mdb_env_set_mapsize(pointer, (mapBytes + page - 1) / page * page)
        if status == 0 { status = mdb_env_set_maxreaders(pointer, UInt32(options.readersMax)) }
        if status == 0 { status = mdb_env_set_maxdbs(pointer, UInt32(options.databasesMax)) }
        if status == 0, !options.isReadOnly { folder.allocateLockFile(slots: options.readersMax) }
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

    /// Opens the named databases, and writes only if some are missing.
    static func openDatabases(
        _ pointer: OpaquePointer, _ options: EnvironmentOptions, _ folder: Folder
    ) throws(LMDBError) -> [String: Database] {
        var status = try openDatabases(pointer, options, create: false)
        if status == MDB_NOTFOUND {
            guard !options.isReadOnly, options.addsDatabases else {
                throw LMDBError(
                    .foreignFile,
                    """
                    '\(folder.path)' lacks one of the databases \(options.databases): another \
                    program may have written it. Check the path.
                    """, underlying: status)
            }
            status = try openDatabases(pointer, options, create: true)
        }
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
        return Committer().commit(transaction)
    }
}
