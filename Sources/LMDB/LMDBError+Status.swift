import CLMDB
import Glibc

extension LMDBError {
    /// Translates a return value of liblmdb.
    ///
    /// - Parameters:
    ///   - status: A non-zero return value: negative ones are LMDB's, positive ones are `errno`.
    ///   - action: What was being done, as in "read a key".
    @usableFromInline
    init(status: Int32, _ action: String) {
        let (code, advice) = Self.meaning(of: status)
        let reason = String(cString: mdb_strerror(status))
        self.init(code, "Could not \(action): \(reason). \(advice)", underlying: status)
    }

    /// Translates the `errno` of a system call on `path`.
    init(errno value: Int32, _ action: String, path: String) {
        let (code, advice) = Self.meaning(of: value)
        let reason = String(cString: strerror(value))
        self.init(code, "Could not \(action) '\(path)': \(reason). \(advice)", underlying: value)
    }

    /// The error for a key of `count` bytes, which is 0 or more than 511.
    @usableFromInline
    static func keyLength(_ count: Int) -> LMDBError {
        if count == 0 {
            return LMDBError(.keyEmpty, "A key needs at least one byte.")
        }
        return LMDBError(
            .keyTooLong, "A key has \(count) bytes and at most 511 are possible; shorten it.")
    }

    static let panicked = LMDBError(
        .panicked,
        """
        An earlier commit failed while the file was being written. Close the environment, open \
        it again, and check whether that commit is there.
        """, underlying: MDB_PANIC)

    static let closed = LMDBError(
        .closed, "The environment is closed. Open it again before you use it.")

    static let forked = LMDBError(
        .forked,
        "The environment was opened before a fork. Open it again in the child, by a new process.")

    private static let locksGivenUp = """
        This process opened its 'lock.mdb' by other means and closed it, as reading or copying the \
        folder does. With that the system took all its locks on the file away, and another process that \
        opened the environment began the file anew. The data is intact: close the environment, and \
        open it again.
        """

    private static func meaning(of status: Int32) -> (Code, String) {
        switch status {
        case MDB_MAP_FULL:
            (.mapFull, "Raise the largest map size, or delete data.")
        case MDB_READERS_FULL:
            (.readersFull, "End some reads, or open all processes with more reader slots.")
        case MDB_PANIC:
            (.panicked, panicked.message)
        case MDB_VERSION_MISMATCH:
            (.versionMismatch, "Use the version of the program that wrote the file.")
        case MDB_INVALID:
            (.foreignFile, "Check the path; if it is right, restore the file from a backup.")
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND:
            (.damaged, "Close the environment and restore the file from a backup.")
        case MDB_BAD_RSLOT:
            (.other, Self.locksGivenUp)
        case MDB_BAD_VALSIZE:
            (.other, "Use a key of 1 to 511 bytes and a value under 4 GiB.")
        case MDB_BAD_TXN:
            (.other, "An earlier call of this transaction failed; let it end and start again.")
        case MDB_TXN_FULL:
            (.other, "Split the transaction into smaller ones.")
        case ENOSPC, EDQUOT, EFBIG:
            (.diskFull, "Nothing was changed. Free some space and try again; reading still works.")
        case ENOENT:
            (.notFoundPath, "Check the path.")
        case ENOTDIR:
            (.notADirectory, "Give the path of a folder.")
        case EACCES, EPERM:
            (.permissionDenied, "Check the owner and the mode of the folder and its files.")
        case EROFS:
            (.readOnlyDirectory, "Open the environment for reading only, or move it.")
        case EIO:
            (.io, "Check the disk. Close the environment and open it again.")
        case ENOMEM:
            (.other, "Lower the map size, or lift the limit of address space (ulimit -v).")
        case EMFILE, ENFILE:
            (.other, "Raise the limit of open files (ulimit -n).")
        case EBUSY:
            (.busy, "Try again.")
        default:
            (.other, status > 0 ? "Check the disk and the file system." : "")
        }
    }
}
