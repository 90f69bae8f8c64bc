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
    func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try checkProcess()
        try checkWriter()
        isWriting = true
        defer { isWriting = false }
        var mayMakeRoom = true
        while true {
            switch try attempt(body) {
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
        _ body: (borrowing WriteTransaction) throws -> R
    ) throws -> Attempt<R> {
        try gate.enterWriting()
        defer { gate.leaveWriting() }
        try checkFiles()
        let transaction = try beginTransaction()
        let result: R
        do {
            let isRecorded = try redo?.begin(transaction) ?? false
            state.pointee.begin(isRecorded: isRecorded)
            result = try body(WriteTransaction(Access(transaction, state: state)))
            if let failure = state.pointee.failure { throw failure }
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
        return .committed(result)
    }

    private func commit(_ transaction: OpaquePointer) throws(LMDBError) -> Int32 {
        guard let redo else { return committer.commit(transaction) }
        let changes = state.pointee.redo
        return try redo.commit(
            transaction, changes.isRecording ? changes.bytes : nil,
            mayTakeReserve: state.pointee.mayTakeReserve)
    }

    private func beginTransaction() throws(LMDBError) -> OpaquePointer {
        while true {
            var begun: OpaquePointer?
            let status = mdb_txn_begin(pointer, nil, 0, &begun)
            if status == MDB_SUCCESS, let begun { return begun }
            switch status {
            case MDB_MAP_RESIZED:
                gate.leaveWriting()
                // The caller leaves again, which does no harm.
                try adoptMapSize()
                try gate.enterWriting()
            case MDB_PANIC:
                gate.panic()
                throw .panicked
            default:
                throw LMDBError(status: status, "begin a write")
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
