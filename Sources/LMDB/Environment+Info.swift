import CLMDB
import Glibc

extension Environment {
    /// Measurements of the environment.
    ///
    /// - Complexity: O(*n*) in the pages of the free list.
    package var info: EnvironmentInfo {
        get throws {
            try read { transaction in
                let pointer = core.pointer
                var info = MDB_envinfo()
                var stat = MDB_stat()
                mdb_env_info(pointer, &info)
                mdb_env_stat(pointer, &stat)
                let readers = ReaderList(of: pointer)
                return EnvironmentInfo(
                    mapBytes: info.me_mapsize, lastPage: info.me_last_pgno,
                    pageBytes: Int(stat.ms_psize), lastTransaction: UInt64(info.me_last_txnid),
                    readersInUse: readers.count, readersMax: Int(info.me_maxreaders),
                    oldestReader: readers.oldest,
                    freePages: try core.freePages(in: transaction.access))
            }
        }
    }

    /// Frees the reader slots of processes that died during a read.
    ///
    /// Happens by itself at opening, when the slots run out, and every 256 commits.
    ///
    /// - Returns: The number of freed slots.
    @discardableResult
    package func checkReaders() throws(LMDBError) -> Int {
        try checkOpen()
        return try core.checkReaders()
    }
}

extension Environment {
    /// Puts all commits on disk, which durability `relaxed` leaves open. Any thread may call it.
    ///
    /// - Throws: `io` if that failed; the environment has to be opened again then.
    package func sync() throws(LMDBError) {
        try checkOpen()
        try core.sync()
    }

    /// Checks all pages in use, which LMDB itself trusts. Takes some microseconds a page.
    ///
    /// - Throws: `truncated` or `damaged`.
    package func checkPages() throws {
        // The snapshot keeps writers from using the pages again meanwhile.
        try read { _ in try DataFile.check(path: core.folder.dataPath, visitsAllPages: true) }
    }

    /// The size of the data file, in bytes; it grows only, and may lie behind the last page.
    package var fileBytes: Int {
        get throws(LMDBError) {
            if core.folder.isUnlinked { return 0 }
            guard let status = try FileKey.status(of: core.folder.dataPath) else {
                throw LMDBError(.notFoundPath, "'\(core.folder.dataPath)' was removed.")
            }
            return Int(status.st_size)
        }
    }
}

extension EnvironmentCore {
    func sync() throws(LMDBError) {
        try mapLock.inside { () throws(LMDBError) in
            let status = mdb_env_sync(pointer, 1)
            if status != MDB_SUCCESS { throw commitFailed(status) }
        }
    }

    /// The pages in the free list: each value is a count and so many page numbers.
    func freePages(in access: Access) throws -> Int {
        var count = 0
        try access.withCursor(in: .free) { cursor in
            while try cursor.next() {
                let value = cursor.value
                guard value.count >= 8 else { continue }
                count += value.loadUnaligned(as: Int.self)
            }
        }
        return count
    }
}

extension Database {
    /// LMDB's own list of free pages.
    static let free = Database(handle: 0)
    /// LMDB's own list of databases.
    static let main = Database(handle: 1)
}
