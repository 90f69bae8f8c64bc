import CLMDB

/// How a process comes to have the journal of an environment.
enum JournalSetup {
    /// Opens the journal of an environment that opens, and takes over what a crash left in it.
    ///
    /// - Returns: `nil` if there is none.
    static func open(
        _ map: EnvironmentMap, _ folder: Folder, _ options: EnvironmentOptions,
        _ committer: CheckedCommitter, _ members: DatabaseMembers
    ) throws(LMDBError) -> Journal? {
        guard !folder.isUnlinked, let position = try position(map.pointer),
            let journal = try join(position, map, folder, options, committer, members)
        else { return nil }
        do throws(LMDBError) {
            if !options.isReadOnly { try journal.takeOver(position) }
        } catch {
            journal.close()
            throw error
        }
        return journal
    }

    /// Opens the journal that a position of the data file names.
    ///
    /// - Returns: `nil` if it isn't there, and the data file is complete without it.
    /// - Throws: `damaged` if the data file may lack what it has.
    static func join(
        _ position: JournalState, _ map: EnvironmentMap, _ folder: Folder,
        _ options: EnvironmentOptions, _ committer: CheckedCommitter, _ members: DatabaseMembers
    ) throws(LMDBError) -> Journal? {
        guard
            let file = try JournalFile.open(in: folder, isReadOnly: options.isReadOnly),
            file.id == position.journal
        else {
            guard !position.mayHaveRecords else { throw .foreignJournal(folder.journalPath) }
            return nil
        }
        return try Journal(map, file, options, committer, members)
    }

    /// Makes a journal, with LMDB's writers' lock, which the transaction's commit makes known.
    ///
    /// - Parameter last: What the data file says of an earlier journal, which isn't there.
    /// - Returns: It, and the position that the commit follows.
    /// - Throws: `diskFull` and others about the file; nothing was changed then.
    static func make(
        _ transaction: OpaquePointer, behind last: JournalState?, _ map: EnvironmentMap,
        _ folder: Folder, _ options: EnvironmentOptions, _ committer: CheckedCommitter,
        _ members: DatabaseMembers
    ) throws(LMDBError) -> (Journal, JournalState)? {
        let id = JournalChance.number()
        let limits = options.journal ?? JournalLimits()
        guard
            let file = try JournalFile.make(in: folder, id: id, halfBytes: limits.halfBytes)
        else { return nil }
        let number = max(UInt64(mdb_txn_id(transaction)) - 1, last?.number ?? 0)
        let journal = try Journal(map, file, options, committer, members)
        return (journal, JournalState(number: number, journal: id))
    }

    /// The position that LMDB has.
    private static func position(_ pointer: OpaquePointer) throws(LMDBError) -> JournalState? {
        var begun: OpaquePointer?
        let status = mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &begun)
        guard status == MDB_SUCCESS, let transaction = begun else {
            throw LMDBError(status: status, "begin a transaction")
        }
        defer { mdb_txn_abort(transaction) }
        return try JournalState.read(
            in: transaction, last: UInt64(mdb_txn_id(transaction)))
    }
}
