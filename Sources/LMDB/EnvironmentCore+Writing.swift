import CLMDB
import Glibc
import Threading

extension EnvironmentCore {
    /// How one attempt at a write ended.
    private enum Attempt<R> {
        case committed(R)
        case mapTooSmall
        case diskFull(LMDBError)
    }

    /// Runs a closure in a write transaction, again after the map had to grow, and once more if the
    /// disk is full and the redo file has something to give.
    ///
    /// - Parameter directly: Whether the commit has to go into the data file.
    func write<R>(
        directly: Bool = false, _ body: (borrowing WriteTransaction) throws -> R
    ) throws -> R {
        try checkProcess()
        try checkWriter()
        isWriting = true
        defer { isWriting = false }
        var mayMakeRoom = true
        while true {
            switch try attempt(body, directly: directly) {
            case .committed(let result):
                checkReadersSometimes()
                releaseMemoryAfterGrowth()
                return result
            case .mapTooSmall:
                try growMap()
            case .diskFull(let error):
                guard mayMakeRoom,
                    redo?.makeRoom(lendsReserve: state.pointee.mayTakeReserve) == true
                else { throw error }
                mayMakeRoom = false
            }
        }
    }

    private func checkWriter() throws(LMDBError) {
        guard writer.isCurrent else {
            throw LMDBError(
                .other, "A write has to run on the environment's writer thread. Submit it there.")
        }
        guard !isWriting else {
            throw LMDBError(
                .alreadyWriting, "A write can't begin inside a write. Use the outer transaction.")
        }
        guard !options.isReadOnly else {
            throw LMDBError(.permissionDenied, "The environment is open for reading only.")
        }
    }

    private func attempt<R>(
        _ body: (borrowing WriteTransaction) throws -> R, directly: Bool
    ) throws -> Attempt<R> {
        try gate.enterWriting()
        defer { gate.leaveWriting() }
        try checkFiles()
        guard let journal else { return try attemptInDataFile(body) }
        try journal.file.lock()
        defer { journal.file.unlock() }
        try adoptingMapSize { () throws(LMDBError) in try journal.settle() }
        if directly {
            if let attempt: Attempt<R> = try applyNow(journal) { return attempt }
        } else if let attempt = try attemptRecord(body, journal) {
            return attempt
        }
        return try attemptInDataFile(body)
    }

    /// Applies the journal.
    ///
    /// - Returns: `nil` if that worked.
    private func applyNow<R>(_ journal: Journal) throws(LMDBError) -> Attempt<R>? {
        do throws(LMDBError) {
            try journal.apply()
            return nil
        } catch {
            return try Self.attempt(failing: error)
        }
    }

    private static func attempt<R>(failing error: LMDBError) throws(LMDBError) -> Attempt<R> {
        switch error.code {
        case .mapFull: return .mapTooSmall
        case .diskFull: return .diskFull(error)
        default: throw error
        }
    }

    /// Runs the closure on a snapshot, and makes a record of what it changes.
    ///
    /// - Returns: `nil` if the commit has to go into the data file; the closure then runs again.
    private func attemptRecord<R>(
        _ body: (borrowing WriteTransaction) throws -> R, _ journal: Journal
    ) throws -> Attempt<R>? {
        state.pointee.begin(isRecorded: false)
        let begun = try adoptingMapSize { () throws(LMDBError) in try journal.beginRecord(state) }
        guard let slot = begun else { return nil }
        defer {
            journal.endRecord(slot)
            state.pointee.endRecord()
        }
        let overlay = state.pointee.overlay
        let result: R
        do {
            let access = Access(
                slot.pointee.transaction, state: state, overlay: overlay,
                number: overlay.pointee.top)
            result = try body(WriteTransaction(access))
            if let failure = state.pointee.failure { throw failure }
        } catch {
            if state.pointee.isTooLarge { return nil }
            throw error
        }
        guard state.pointee.changes > 0 else { return .committed(result) }
        do throws(LMDBError) {
            guard try journal.commitRecord(state) else { return nil }
        } catch {
            return try Self.attempt(failing: error)
        }
        // The commit is made; if this fails, the next one tries again.
        if journal.mustApplyNow { try? journal.apply() }
        return .committed(result)
    }

    private func attemptInDataFile<R>(
        _ body: (borrowing WriteTransaction) throws -> R
    ) throws -> Attempt<R> {
        let transaction = try beginTransaction()
        let result: R
        var published: UInt64?
        do {
            let isRecorded = try redo?.begin(transaction) ?? false
            state.pointee.begin(isRecorded: isRecorded)
            let direct = try beginDirect(transaction)
            let access = Access(transaction, state: state, number: direct?.number ?? 0)
            result = try body(WriteTransaction(access))
            if let failure = state.pointee.failure { throw failure }
            if let direct { published = try endDirect(direct, transaction) }
        } catch {
            mdb_txn_abort(transaction)
            // Checked also if the closure threw another error after a failed write.
            switch state.pointee.failure {
            case let failure? where failure.code == .mapFull: return .mapTooSmall
            case let failure? where failure.code == .diskFull: return .diskFull(failure)
            default: throw error
            }
        }
        let status: Int32
        do throws(LMDBError) {
            status = try commit(transaction)
        } catch {
            if error.code == .diskFull { return .diskFull(error) }
            throw error
        }
        if status == MDB_MAP_FULL { return .mapTooSmall }
        guard status == MDB_SUCCESS else {
            let error = commitFailed(status)
            if error.code == .diskFull { return .diskFull(error) }
            throw error
        }
        if let published { journal?.published(published) }
        return .committed(result)
    }

    /// Puts what waits in the journal into a write transaction that has begun.
    ///
    /// - Returns: `nil` if there is no journal.
    private func beginDirect(
        _ transaction: OpaquePointer
    ) throws(LMDBError) -> Journal.Direct? {
        guard let journal else {
            guard !folder.isUnlinked else { return nil }
            let last = UInt64(mdb_txn_id(transaction)) - 1
            guard try JournalPosition.read(in: transaction, last: last) == nil else {
                throw LMDBError(
                    .other,
                    """
                    Another process has begun a journal for '\(folder.path)'. Close the \
                    environment and open it again.
                    """)
            }
            return nil
        }
        let (direct, status) = try journal.beginDirect(transaction)
        if status != MDB_SUCCESS {
            throw Access(transaction, state: state).failed(status, "apply the journal")
        }
        return direct
    }

    /// - Returns: The number of the state that the transaction makes; `nil` if it makes none.
    private func endDirect(
        _ direct: Journal.Direct, _ transaction: OpaquePointer
    ) throws(LMDBError) -> UInt64? {
        guard let journal else { return nil }
        let isSmall =
            !state.pointee.isTooLarge && state.pointee.byteCount <= journal.limits.changeBytesMax
        let (number, status) = journal.endDirect(
            direct, transaction, hasChanged: state.pointee.changes > 0, isSmall: isSmall)
        if status != MDB_SUCCESS {
            throw Access(transaction, state: state).failed(status, "note the state")
        }
        return number
    }

    private func commit(_ transaction: OpaquePointer) throws(LMDBError) -> Int32 {
        guard let redo else { return committer.commit(transaction) }
        let changes = state.pointee.redo
        return try redo.commit(
            transaction, changes.isRecording ? changes.bytes : nil,
            mayTakeReserve: state.pointee.mayTakeReserve)
    }

    private func beginTransaction() throws(LMDBError) -> OpaquePointer {
        try adoptingMapSize { () throws(LMDBError) in
            var begun: OpaquePointer?
            let status = mdb_txn_begin(pointer, nil, 0, &begun)
            guard status == MDB_SUCCESS, let begun else {
                throw LMDBError(status: status, "begin a write")
            }
            return begun
        }
    }

    /// Begins a transaction, again if another process has changed the size of the map.
    private func adoptingMapSize<R>(
        _ begin: () throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        while true {
            do throws(LMDBError) {
                return try begin()
            } catch {
                switch error.underlying {
                case MDB_MAP_RESIZED:
                    gate.leaveWriting()
                    // The caller leaves again, which does no harm.
                    try adoptMapSize()
                    try gate.enterWriting()
                case MDB_PANIC:
                    gate.panic()
                    throw .panicked
                default:
                    throw error
                }
            }
        }
    }

    /// A full disk leaves everything as it was, unless it was the meta page that found no room. After
    /// any other failure the system may have dropped what it couldn't write, and the outcome is known
    /// only after reading the file again.
    func commitFailed(_ status: Int32) -> LMDBError {
        switch status {
        case ENOSPC, EDQUOT, EFBIG, MDB_TXN_FULL, MDB_BAD_TXN:
            return hasGivenUp ? outcomeUnknown(status) : LMDBError(status: status, "commit")
        case MDB_PANIC:
            gate.panic()
            return .panicked
        default:
            return outcomeUnknown(status)
        }
    }

    private func outcomeUnknown(_ status: Int32) -> LMDBError {
        gate.panic()
        let reason = String(cString: mdb_strerror(status))
        return LMDBError(
            .io,
            """
            A commit failed and may or may not be on disk: \(reason). Check the disk, close the \
            environment, open it again, and look whether the commit is there.
            """, underlying: status)
    }

    /// Whether LMDB refuses to go on, as it does after it couldn't write the meta page; or may.
    private var hasGivenUp: Bool {
        let (transaction, status) = beginSnapshot()
        if let transaction { mdb_txn_abort(transaction) }
        return status != MDB_SUCCESS && status != MDB_MAP_RESIZED
    }

    /// Doubles the map while nobody is inside.
    private func growMap() throws(LMDBError) {
        try gate.exclusively { () throws(LMDBError) in
            var info = MDB_envinfo()
            mdb_env_info(pointer, &info)
            guard info.me_mapsize < options.mapBytesMax else {
                throw LMDBError(
                    .mapFull,
                    """
                    The data of '\(folder.path)' has reached the largest size of \
                    \(options.mapBytesMax) bytes. Raise mapBytesMax, or delete data.
                    """, underlying: MDB_MAP_FULL)
            }
            try setMapSize(min(info.me_mapsize * 2, options.mapBytesMax))
        }
    }

    /// Refuses to write to files that nobody can find any more: the commits would be lost.
    private func checkFiles() throws(LMDBError) {
        guard let lockKey, !folder.isUnlinked else { return }
        if try FileKey(path: folder.dataPath) == key, try FileKey(path: folder.lockPath) == lockKey
        {
            return
        }
        throw LMDBError(
            .notFoundPath,
            """
            The data file or the lock file of '\(folder.path)' was deleted or replaced while it \
            was open. Nothing was written. Close the environment and restore the folder.
            """)
    }

    private func checkReadersSometimes() {
        commitCount += 1
        if commitCount % Self.commitsPerReaderCheck == 0 {
            var dead: Int32 = 0
            mdb_reader_check(pointer, &dead)
        }
    }
}
