import CLMDB

/// Steps of opening a journal, in transactions of their own.
enum JournalSetup {
    /// The position that LMDB has.
    static func known(_ pointer: OpaquePointer) throws(LMDBError) -> JournalPosition? {
        let transaction = try begin(pointer, UInt32(MDB_RDONLY))
        defer { mdb_txn_abort(transaction) }
        return try JournalPosition.read(
            in: transaction, last: UInt64(mdb_txn_id(transaction)))
    }

    /// Commits the first position of a journal.
    static func begin(
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
