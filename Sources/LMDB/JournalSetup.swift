import CLMDB

/// Steps of opening a journal, in transactions of their own.
enum JournalSetup {
    /// Opens the journal of an environment that opens, and takes over what a crash left in it.
    ///
    /// - Parameter redo: For a commit that makes a new journal known.
    /// - Returns: `nil` if there is none, and none is wanted.
    static func open(
        _ map: EnvironmentMap, _ folder: Folder, _ options: EnvironmentOptions,
        _ committer: Committer, _ redo: Redo?, _ members: DatabaseMembers
    ) throws(LMDBError) -> Journal? {
        guard !folder.isUnlinked else { return nil }
        let isSynced = options.durability == .full
        var known = try position(map.pointer)
        let isNeeded = options.journal != nil && !options.isReadOnly
        guard known != nil || isNeeded else { return nil }
        var file = try JournalFile.open(
            in: folder, isSynced: isSynced, isReadOnly: options.isReadOnly)
        if known == nil || file?.id != known?.journal {
            guard !options.isReadOnly else {
                if known?.mayHaveRecords == true {
                    throw LMDBError.foreignJournal(folder.journalPath)
                }
                return nil
            }
            try JournalFile.creating(in: folder) { () throws(LMDBError) in
                known = try position(map.pointer)
                file = try JournalFile.open(in: folder, isSynced: isSynced, isReadOnly: false)
                guard known == nil || file?.id != known?.journal else { return }
                if known?.mayHaveRecords == true {
                    throw LMDBError.foreignJournal(folder.journalPath)
                }
                let id = JournalChance.number()
                try JournalFile.make(
                    in: folder, id: id, halfBytes: (options.journal ?? JournalLimits()).halfBytes)
                try begin(map.pointer, id, committer, redo)
                file = try JournalFile.open(in: folder, isSynced: isSynced, isReadOnly: false)
            }
        }
        guard let file else { throw LMDBError.foreignJournal(folder.journalPath) }
        let journal = try Journal(map, file, options, committer, members)
        do throws(LMDBError) {
            if !options.isReadOnly { try journal.takeOver() }
        } catch {
            journal.close()
            throw error
        }
        return journal
    }

    /// The position that LMDB has.
    private static func position(_ pointer: OpaquePointer) throws(LMDBError) -> JournalPosition? {
        let transaction = try begin(pointer, UInt32(MDB_RDONLY))
        defer { mdb_txn_abort(transaction) }
        return try JournalPosition.read(
            in: transaction, last: UInt64(mdb_txn_id(transaction)))
    }

    /// Commits the first position of a journal.
    private static func begin(
        _ pointer: OpaquePointer, _ id: UInt64, _ committer: Committer, _ redo: Redo?
    ) throws(LMDBError) {
        let transaction = try begin(pointer, 0)
        var status: Int32
        do throws(LMDBError) {
            // Another process may have commits in its redo file.
            _ = try redo?.begin(transaction)
            let number = UInt64(mdb_txn_id(transaction))
            let last = try JournalPosition.read(in: transaction, last: number - 1)
            let position = JournalPosition(
                number: max(number, (last?.number ?? 0) + 1), journal: id)
            status = position.write(in: transaction)
            guard status == MDB_SUCCESS else {
                throw LMDBError(status: status, "begin a journal")
            }
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        status = committer.commit(transaction)
        guard status == MDB_SUCCESS else {
            throw LMDBError(status: status, "begin a journal")
        }
    }

    private static func begin(
        _ pointer: OpaquePointer, _ flags: UInt32
    ) throws(LMDBError) -> OpaquePointer {
        var begun: OpaquePointer?
        let status = mdb_txn_begin(pointer, nil, flags, &begun)
        guard status == MDB_SUCCESS, let begun else {
            throw LMDBError(status: status, "begin a transaction")
        }
        return begun
    }
}
