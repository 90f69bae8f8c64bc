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
        /// Another process began a journal.
        case journalFound
    }

    /// Runs a closure in a write transaction, again after the map had to grow, and once more if the
    /// disk is full and the journal has something to give.
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
                let lends = core.state.pointee.mayTakeReserve
                guard mayMakeRoom, core.journal?.reserve.makeRoom(lends: lends) == true else {
                    throw error
                }
                mayMakeRoom = false
            case .journalFound: continue
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
        try core.mapLock.enterWriting()
        defer { core.mapLock.leaveWriting() }
        try checkFiles()
        guard let journal = core.journal else { return try attemptInDataFile(body, nil) }
        try journal.file.lock()
        defer { journal.file.unlock() }
        try adoptingMapSize { () throws(LMDBError) in try journal.settle() }
        if directly {
            if let attempt: Attempt<R> = try applyNow(journal) { return attempt }
        } else if let attempt = try attemptRecord(body, journal) {
            return attempt
        }
        return try attemptInDataFile(body, journal)
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
        core.state.pointee.begin()
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
        _ body: (borrowing WriteTransaction) throws -> R, _ journal: Journal?
    ) throws -> Attempt<R> {
        let (transaction, known) = try beginTransaction()
        let result: R
        var ending: Ending?
        defer { ending?.begun?.file.unlock() }
        do {
            core.state.pointee.begin()
            core.state.pointee.members = known
            let beginning = try begin(transaction, journal)
            if case .foundJournal = beginning {
                mdb_txn_abort(transaction)
                return .journalFound
            }
            let access = Access(
                transaction, state: core.state, number: beginning.number,
                namedCount: UInt32(core.options.databases.count))
            result = try body(WriteTransaction(access))
            if let failure = core.state.pointee.failure { throw failure }
            ending = try end(beginning, transaction, journal)
        } catch {
            mdb_txn_abort(transaction)
            journal?.words.isCommitting = false
            // Checked also if the closure threw another error after a failed write.
            switch core.state.pointee.failure {
            case let failure? where failure.code == .mapFull: return .mapTooSmall
            case let failure? where failure.code == .diskFull: return .diskFull(failure)
            default: throw error
            }
        }
        let status = try core.members.committing(core.state.pointee.members) {
            () throws(LMDBError) in core.committer.commit(transaction)
        }
        guard status == MDB_SUCCESS else {
            let error = status == MDB_MAP_FULL ? nil : core.commitFailed(status)
            // Otherwise the outcome is unknown, and the next who writes finds out.
            if error == nil || error?.code == .diskFull { journal?.words.isCommitting = false }
            guard let error else { return .mapTooSmall }
            if error.code == .diskFull { return .diskFull(error) }
            throw error
        }
        publish(ending, journal)
        return .committed(result)
    }

    /// What a transaction of LMDB begins with.
    private enum Beginning {
        /// There is no journal; what the data file says of an earlier one.
        case plain(JournalState?)
        /// What waited is applied.
        case behind(Journal.Direct)
        /// There is a journal now.
        case foundJournal

        /// The number of the state; 0 without a journal.
        var number: UInt64 { if case .behind(let direct) = self { direct.number } else { 0 } }
    }

    /// What a transaction of LMDB ends with.
    private struct Ending {
        /// The number of the state that it makes.
        let number: UInt64
        /// The journal that it makes known. Its role of the writer is held until it is published.
        var begun: Journal?
    }

    /// Puts what waits in the journal into a write transaction that has begun.
    private func begin(
        _ transaction: OpaquePointer, _ journal: Journal?
    ) throws(LMDBError) -> Beginning {
        if let journal {
            let (direct, status) = try journal.beginDirect(transaction)
            if status != MDB_SUCCESS {
                throw Access(transaction, state: core.state).failed(status, "apply the journal")
            }
            return .behind(direct)
        }
        guard !core.folder.isUnlinked else { return .plain(nil) }
        let last = UInt64(mdb_txn_id(transaction)) - 1
        guard let position = try JournalState.read(in: transaction, last: last) else {
            return .plain(nil)
        }
        return try core.joinJournal(position) == nil ? .plain(position) : .foundJournal
    }

    /// Writes the state that a transaction makes.
    ///
    /// - Returns: `nil` if it makes none, or if there is no journal.
    private func end(
        _ beginning: Beginning, _ transaction: OpaquePointer, _ journal: Journal?
    ) throws(LMDBError) -> Ending? {
        if let journal, case .behind(let direct) = beginning {
            try takeReserveBack(journal)
            return try end(direct, transaction, journal).map { Ending(number: $0) }
        }
        guard case .plain(let last) = beginning, core.state.pointee.changes > 0,
            let (journal, direct) = beginJournal(transaction, behind: last)
        else { return nil }
        do throws(LMDBError) {
            let number = try end(direct, transaction, journal)
            return number.map { Ending(number: $0, begun: journal) }
        } catch {
            journal.file.unlock()
            throw error
        }
    }

    private func end(
        _ direct: Journal.Direct, _ transaction: OpaquePointer, _ journal: Journal
    ) throws(LMDBError) -> UInt64? {
        let (number, status) = journal.endDirect(
            direct, transaction, hasChanged: core.state.pointee.changes > 0,
            isSmall: isSmall(journal.changeBytesMax))
        if status != MDB_SUCCESS {
            throw Access(transaction, state: core.state).failed(status, "note the state")
        }
        return number
    }

    /// Whether a record could have held what was changed.
    private func isSmall(_ bytesMax: Int) -> Bool {
        let limits = core.options.journal ?? JournalLimits()
        return !core.state.pointee.isTooLarge && core.state.pointee.byteCount <= bytesMax
            && core.state.pointee.changes <= limits.changesMax
    }

    /// Begins a journal after some small commits, in the role of its writer. If the disk has no space
    /// for it, commits do without.
    private func beginJournal(
        _ transaction: OpaquePointer, behind last: JournalState?
    ) -> (Journal, Journal.Direct)? {
        guard core.options.wantsJournal, let limits = core.options.journal,
            !core.folder.isUnlinked
        else { return nil }
        let isSmall = isSmall(limits.changeBytesMax)
        core.smallCommits = isSmall ? core.smallCommits + 1 : 0
        guard isSmall, core.smallCommits >= limits.commitsBefore else { return nil }
        let made = try? { () throws(LMDBError) in
            let made = try JournalSetup.make(
                transaction, behind: last, core.map, core.folder, core.options, core.committer,
                core.members)
            try made?.0.file.lock()
            return made
        }()
        guard let (journal, position) = made.flatMap({ $0 }) else {
            core.smallCommits = 0
            return nil
        }
        journal.smallCommits = core.smallCommits
        let direct = Journal.Direct(
            position: position, number: position.number, link: position.link)
        return (journal, direct)
    }

    /// Lets the journal have its blocks again that were lent to what frees space, before others take
    /// space.
    ///
    /// - Throws: `diskFull`, noted as the failure of the transaction.
    private func takeReserveBack(_ journal: Journal) throws(LMDBError) {
        guard !core.state.pointee.mayTakeReserve, journal.file.isLent else { return }
        do throws(LMDBError) {
            try journal.file.fillReserve()
        } catch {
            core.state.pointee.failure = error
            throw error
        }
    }

    /// Makes known what was committed.
    private func publish(_ ending: Ending?, _ journal: Journal?) {
        guard let ending else { return }
        guard let begun = ending.begun else {
            journal?.published(ending.number)
            return
        }
        begun.published(ending.number)
        begun.words.makeCurrent()
        core.journalSlot.take(begun)
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
                    core.mapLock.leaveWriting()
                    // The caller leaves again, which does no harm.
                    try core.map.adopt()
                    try core.mapLock.enterWriting()
                case MDB_PANIC:
                    core.mapLock.panic()
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
            try FileKey(path: core.folder.lockPath) == lockKey,
            try isJournalThere
        {
            return
        }
        throw LMDBError(
            .notFoundPath,
            """
            The data file, the lock file or the journal of '\(core.folder.path)' was deleted or \
            replaced while it was open. Nothing was written. Close the environment and restore the folder.
            """)
    }

    /// Whether the journal that is open is the file that the next process finds.
    private var isJournalThere: Bool {
        get throws(LMDBError) {
            guard let file = core.journal?.file else { return true }
            return try FileKey(path: file.path) == file.key
        }
    }

    private func checkReadersSometimes() {
        core.commitCount += 1
        if core.commitCount % EnvironmentCore.commitsPerReaderCheck == 0 {
            var dead: Int32 = 0
            mdb_reader_check(core.pointer, &dead)
        }
    }
}
