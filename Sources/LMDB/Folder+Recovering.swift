import CLMDB
import Glibc

extension Folder {
    /// Brings the data file up to the last commit if a power cut left that in the redo file only.
    ///
    /// Does nothing if the data file is whole. To be called before the data file is used, while no
    /// environment of this process has it open. If it fails, or the power is cut meanwhile, the
    /// next call begins again.
    ///
    /// - Throws: `busy` if another process has the file open; `damaged` if the redo file belongs to
    ///   another data file; `permissionDenied`, `readOnlyDirectory`, `diskFull`, `io`.
    func recover(_ options: EnvironmentOptions) throws(LMDBError) {
        guard let reading = try RedoFile(in: self, forWriting: false),
            try reading.header().needsRecovery(on: options.boot)
        else { return }
        guard let file = try RedoFile(in: self) else { return }
        try file.locked { () throws(LMDBError) in
            let header = try file.header()
            guard header.needsRecovery(on: options.boot) else { return }
            try refuseUsers()
            try restore(header.base)
            try replay(file, behind: header, options)
            try file.write(header.next { $0.state = .clean })
            try file.sync()
        }
    }

    /// Whether the data file can only be used after ``recover(_:)``.
    func needsRecovery(on boot: BootID?) throws(LMDBError) -> Bool {
        try RedoFile(in: self, forWriting: false)?.header().needsRecovery(on: boot) ?? false
    }

    /// Throws if any process has the environment open.
    private func refuseUsers() throws(LMDBError) {
        guard let user = try otherUser() else { return }
        throw LMDBError(
            .busy,
            """
            '\(path)' has to be recovered after a failure of the disk, and process \(user) has it \
            open. End that process, then open it again.
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

    private func restore(_ base: RedoBase) throws(LMDBError) {
        let descriptor = open(dataPath, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: dataPath) }
        defer { close(descriptor) }
        let file = DataFile(descriptor: descriptor, path: dataPath)
        guard try base.matches(file) else {
            throw LMDBError(
                .damaged,
                """
                '\(redoPath)' doesn't belong to '\(dataPath)', or that is damaged. If you put an \
                older data.mdb in place on purpose, delete the file 'redo'; otherwise restore the \
                folder from a backup.
                """)
        }
        try base.restore(to: file)
    }

    /// Makes the commits behind the base again, in one transaction: in several, the second could
    /// use pages of the base, which has to stay until the end.
    private func replay(
        _ file: RedoFile, behind header: RedoHeader, _ options: EnvironmentOptions
    ) throws(LMDBError) {
        let base = header.base.transaction
        let first = try file.half(of: header.epoch)
        let firstRecords = first.withUnsafeBytes {
            RedoRecord.scan($0, epoch: header.epoch, after: base)
        }
        let second = try file.half(of: header.epoch + 1)
        let secondRecords = second.withUnsafeBytes {
            RedoRecord.scan(
                $0, epoch: header.epoch + 1, after: base + UInt64(firstRecords.count))
        }
        guard firstRecords.count + secondRecords.count > 0 else { return }
        var options = options
        options.durability = .full
        options.isReadOnly = false
        options.addsDatabases = false
        let pointer = try EnvironmentCore.openPointer(self, options)
        defer { mdb_env_close(pointer) }
        _ = try EnvironmentCore.openDatabases(pointer, options, self, redo: nil)
        // A commit that makes a database is never in the redo file.
        let members = DatabaseMembers(pointer, options)
        try members.refresh()
        try EnvironmentCore.commit(pointer, members, options) { access throws(LMDBError) in
            for (bytes, records) in [(first, firstRecords), (second, secondRecords)] {
                for record in records {
                    try bytes[record].withBytes { changes throws(LMDBError) in
                        try RedoBuffer.replay(changes, in: access)
                    }
                }
            }
        }
    }
}

extension EnvironmentCore {
    /// Runs a closure in a write transaction of an environment that nothing else uses.
    fileprivate static func commit(
        _ pointer: OpaquePointer, _ members: DatabaseMembers, _ options: EnvironmentOptions,
        _ body: (Access) throws(LMDBError) -> Void
    ) throws(LMDBError) {
        let known = members.known
        var begun: OpaquePointer?
        var status = mdb_txn_begin(pointer, nil, 0, &begun)
        guard status == MDB_SUCCESS, let transaction = begun else {
            throw LMDBError(status: status, "begin a write")
        }
        let state = UnsafeMutablePointer<WriteState>.allocate(capacity: 1)
        state.initialize(to: WriteState(members))
        state.pointee.members = known
        defer {
            state.pointee.end()
            state.deinitialize(count: 1)
            state.deallocate()
        }
        do throws(LMDBError) {
            try body(
                Access(
                    transaction, state: state, namedCount: UInt32(options.databases.count)))
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        status = Committer().commit(transaction)
        guard status == MDB_SUCCESS else { throw LMDBError(status: status, "commit") }
    }
}

extension ArraySlice<UInt8> {
    /// The bytes in place, with typed errors.
    fileprivate func withBytes(
        _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> Void
    ) throws(LMDBError) {
        try withUnsafeBytes { bytes in Result { () throws(LMDBError) in try body(bytes) } }.get()
    }
}
