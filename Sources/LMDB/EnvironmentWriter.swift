import CLMDB
import Glibc
import Threading

/// Writes on the writer thread of an environment.
struct EnvironmentWriter {
    private let core: EnvironmentCore

    init(_ core: EnvironmentCore) { self.core = core }

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
        try core.checkProcess()
        try checkWriter()
        core.isWriting = true
        defer { core.isWriting = false }
        var mayMakeRoom = true
        while true {
            switch try attempt(body, directly: directly) {
            case .committed(let result):
                checkReadersSometimes()
                core.releaseMemoryAfterGrowth()
                return result
            case .mapTooSmall:
                try core.map.grow()
            case .diskFull(let error):
                guard mayMakeRoom,
                    core.redo?.makeRoom(lendsReserve: core.state.pointee.mayTakeReserve) == true
                else { throw error }
                mayMakeRoom = false
            }
        }
    }

    private func checkWriter() throws(LMDBError) {
        guard core.writer.isCurrent else {
            throw LMDBError(
                .other,
                "A write has to run on the environment's writer thread. Submit it there.")
        }
        guard !core.isWriting else {
            throw LMDBError(
                .alreadyWriting, "A write can't begin inside a write. Use the outer transaction.")
        }
        guard !core.options.isReadOnly else {
            throw LMDBError(.permissionDenied, "The environment is open for reading only.")
        }
    }

    private func attempt<R>(
        _ body: (borrowing WriteTransaction) throws -> R, directly: Bool
    ) throws -> Attempt<R> {
        try core.gate.enterWriting()
        defer { core.gate.leaveWriting() }
        try checkFiles()
        guard let journal = core.journal else { return try attemptInDataFile(body) }
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
        core.state.pointee.begin(isRecorded: false)
        let known = core.members.known
        let begun = try adoptingMapSize { () throws(LMDBError) in
            try journal.beginRecord(core.state)
        }
        guard let slot = begun else { return nil }
        // A database that another process made: the commit goes into the data file this time.
        guard core.members.areAll(known, in: slot.pointee.transaction) else {
            journal.endRecord(slot)
            core.state.pointee.endRecord()
            return nil
        }
        core.state.pointee.members = known
        defer {
            journal.endRecord(slot)
            core.state.pointee.endRecord()
        }
        let overlay = core.state.pointee.overlay
        let result: R
        do {
            let access = Access(
                slot.pointee.transaction, state: core.state, overlay: overlay,
                number: overlay.pointee.top, namedCount: UInt32(core.options.databases.count))
            result = try body(WriteTransaction(access))
            if let failure = core.state.pointee.failure { throw failure }
        } catch {
            if core.state.pointee.isTooLarge { return nil }
            throw error
        }
        guard core.state.pointee.changes > 0 else { return .committed(result) }
        do throws(LMDBError) {
            guard try journal.commitRecord(core.state) else { return nil }
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
        let (transaction, known) = try beginTransaction()
        let result: R
        var published: UInt64?
        do {
            let isRecorded = try core.redo?.begin(transaction) ?? false
            core.state.pointee.begin(isRecorded: isRecorded)
            core.state.pointee.members = known
            let direct = try beginDirect(transaction)
            let access = Access(
                transaction, state: core.state, number: direct?.number ?? 0,
                namedCount: UInt32(core.options.databases.count))
            result = try body(WriteTransaction(access))
            if let failure = core.state.pointee.failure { throw failure }
            if let direct { published = try endDirect(direct, transaction) }
        } catch {
            mdb_txn_abort(transaction)
            // Checked also if the closure threw another error after a failed write.
            switch core.state.pointee.failure {
            case let failure? where failure.code == .mapFull: return .mapTooSmall
            case let failure? where failure.code == .diskFull: return .diskFull(failure)
            default: throw error
            }
        }
        let status: Int32
        do throws(LMDBError) {
            status = try core.members.committing(core.state.pointee.members) {
                () throws(LMDBError) in try commit(transaction)
            }
        } catch {
            if error.code == .diskFull { return .diskFull(error) }
            throw error
        }
        if status == MDB_MAP_FULL { return .mapTooSmall }
        guard status == MDB_SUCCESS else {
            let error = core.commitFailed(status)
            if error.code == .diskFull { return .diskFull(error) }
            throw error
        }
        if let published { core.journal?.published(published) }
        return .committed(result)
    }

    /// Puts what waits in the journal into a write transaction that has begun.
    ///
    /// - Returns: `nil` if there is no journal.
    private func beginDirect(
        _ transaction: OpaquePointer
    ) throws(LMDBError) -> Journal.Direct? {
        guard let journal = core.journal else {
            guard !core.folder.isUnlinked else { return nil }
            let last = UInt64(mdb_txn_id(transaction)) - 1
            guard try JournalPosition.read(in: transaction, last: last) == nil else {
                throw LMDBError(
                    .other,
                    """
                    Another process has begun a journal for '\(core.folder.path)'. Close the \
                    environment and open it again.
                    """)
            }
            return nil
        }
        let (direct, status) = try journal.beginDirect(transaction)
        if status != MDB_SUCCESS {
            throw Access(transaction, state: core.state).failed(status, "apply the journal")
        }
        return direct
    }

    /// - Returns: The number of the state that the transaction makes; `nil` if it makes none.
    private func endDirect(
        _ direct: Journal.Direct, _ transaction: OpaquePointer
    ) throws(LMDBError) -> UInt64? {
        guard let journal = core.journal else { return nil }
        let isSmall =
            !core.state.pointee.isTooLarge
            && core.state.pointee.byteCount <= journal.limits.changeBytesMax
        let (number, status) = journal.endDirect(
            direct, transaction, hasChanged: core.state.pointee.changes > 0, isSmall: isSmall)
        if status != MDB_SUCCESS {
            throw Access(transaction, state: core.state).failed(status, "note the state")
        }
        return number
    }

    private func commit(_ transaction: OpaquePointer) throws(LMDBError) -> Int32 {
        guard let redo = core.redo else { return core.committer.commit(transaction) }
        let changes = core.state.pointee.redo
        return try redo.commit(
            transaction, changes.isRecording ? changes.bytes : nil,
            mayTakeReserve: core.state.pointee.mayTakeReserve)
    }

    private func beginTransaction() throws(LMDBError) -> (
        transaction: OpaquePointer, known: DatabaseMembers.Known
    ) {
        try adoptingMapSize { () throws(LMDBError) in
            try core.members.beginWriting("begin a write")
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
                    core.gate.leaveWriting()
                    // The caller leaves again, which does no harm.
                    try core.map.adopt()
                    try core.gate.enterWriting()
                case MDB_PANIC:
                    core.gate.panic()
                    throw .panicked
                default:
                    throw error
                }
            }
        }
    }

    /// Refuses to write to files that nobody can find any more: the commits would be lost.
    private func checkFiles() throws(LMDBError) {
        guard let lockKey = core.lockKey, !core.folder.isUnlinked else { return }
        if try FileKey(path: core.folder.dataPath) == core.key,
            try FileKey(path: core.folder.lockPath) == lockKey
        {
            return
        }
        throw LMDBError(
            .notFoundPath,
            """
            The data file or the lock file of '\(core.folder.path)' was deleted or replaced while it \
            was open. Nothing was written. Close the environment and restore the folder.
            """)
    }

    private func checkReadersSometimes() {
        core.commitCount += 1
        if core.commitCount % EnvironmentCore.commitsPerReaderCheck == 0 {
            var dead: Int32 = 0
            mdb_reader_check(core.pointer, &dead)
        }
    }
}
