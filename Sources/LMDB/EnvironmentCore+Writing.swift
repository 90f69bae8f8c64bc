import CLMDB
import Glibc

extension EnvironmentCore {
    /// As ``EnvironmentWriter/write(directly:_:)``.
    func write<R>(
        directly: Bool = false, _ body: (borrowing WriteTransaction) throws -> R
    ) throws -> R {
        try EnvironmentWriter(self).write(directly: directly, body)
    }

    /// A full disk leaves everything as it was, unless it was the meta page that found no room. After
    /// any other failure the system may have dropped what it couldn't write, and the outcome is known
    /// only after reading the file again.
    func commitFailed(_ status: Int32) -> LMDBError {
        switch status {
        case ENOSPC, EDQUOT, EFBIG, MDB_TXN_FULL, MDB_BAD_TXN:
            return hasGivenUp ? outcomeUnknown(status) : LMDBError(status: status, "commit")
        case MDB_PANIC:
            mapLock.panic()
            return .panicked
        default:
            return outcomeUnknown(status)
        }
    }

    private func outcomeUnknown(_ status: Int32) -> LMDBError {
        mapLock.panic()
        return .outcomeUnknown(String(cString: mdb_strerror(status)), underlying: status)
    }

    /// Whether LMDB refuses to go on, as it does after it couldn't write the meta page; or may.
    private var hasGivenUp: Bool {
        let (transaction, status) = beginSnapshot()
        if let transaction { mdb_txn_abort(transaction) }
        return status != MDB_SUCCESS && status != MDB_MAP_RESIZED
    }
}

extension LMDBError {
    /// A commit failed, and only reading the file again shows whether it is there.
    static func outcomeUnknown(_ reason: String, underlying: Int32) -> LMDBError {
        LMDBError(
            .io,
            """
            A commit failed and may or may not be on disk: \(reason). Check the disk, close the \
            environment, open it again, and look whether the commit is there.
            """, underlying: underlying)
    }
}
