import CLMDB
import Glibc

extension Environment {
    /// Gives the blocks of free pages back to the file system, on the ``writer`` thread only.
    ///
    /// The file keeps its length, with holes in it; a page in a hole gets a block again when a commit
    /// uses it. Nothing is committed. Writers of all processes wait for one step; readers don't.
    ///
    /// A page is given back only if the next commit could write anything to it: no snapshot of a
    /// living reader has it, nor has the last commit or the one before.
    /// So whatever a crash leaves of it, or of its zeros, is never read.
    ///
    /// - Parameter below: Pages from this number on are left alone; nil for none.
    /// - Throws: As ``write(_:)``; `other` if the file system fails.
    /// - Complexity: O(*n*) in the free pages.
    package func releaseFreePages(
        below: Int? = nil, budget: PageReleaseBudget = PageReleaseBudget()
    ) throws -> PageRelease {
        try whileNobodyWrites { transaction in
            // LMDB shows its free list to read transactions only. Nobody commits meanwhile, so that
            // this one begins with the same commit.
            try read { snapshot in
                let info = core.pageInfo
                let pages = try core.reusablePages(
                    in: snapshot.access, next: transaction, count: info.count)
                let runs = pages.runs(sparing: budget.reserve, minimum: budget.pagesPerRunMin)
                var release = try core.holes(pageBytes: info.bytes).make(
                    in: runs, below: below ?? info.count, budget)
                release.reusablePages = pages.count
                return release
            }
        }
    }

    /// The bytes that the data file takes up on the disk, without the holes in it. Any thread may ask.
    ///
    /// - Throws: `closed`, `forked`, `panicked`; `io` or another code of the file system.
    package var allocatedBytes: Int {
        get throws(LMDBError) {
            try checkOpen()
            return try Self.allocatedBytes(of: core)
        }
    }

    /// The same, inside the lock: so no other thread closes the file meanwhile, which would free what is asked.
    static func allocatedBytes(of core: EnvironmentCore) throws(LMDBError) -> Int {
        var status = stat()
        try core.mapLock.inside { () throws(LMDBError) in
            guard fstat(core.descriptor, &status) == 0 else {
                throw LMDBError(errno: errno, "look up", path: core.folder.dataPath)
            }
        }
        return Int(status.st_blocks) * 512
    }

    /// The bytes that the file `journal` takes up on the disk; 0 if there is none.
    package var journalBytes: Int {
        get throws(LMDBError) {
            guard !core.folder.isUnlinked,
                let status = try FileKey.status(of: core.folder.journalPath)
            else { return 0 }
            return Int(status.st_blocks) * 512
        }
    }

    /// Runs a closure with the write lock of all processes, and commits nothing.
    ///
    /// - Parameter body: Gets the id that the next commit will have.
    private func whileNobodyWrites<R>(_ body: (UInt64) throws -> R) throws -> R {
        var result: Result<R, any Error> = .failure(LMDBError.closed)
        do {
            try writeDirectly { transaction in
                result = Result { try body(transaction.id) }
                throw NothingToCommit()
            }
        } catch is NothingToCommit {}
        return try result.get()
    }
}

/// Ends a write that has nothing to commit.
struct NothingToCommit: Error {}

extension EnvironmentCore {
    /// The descriptor of the data file. The caller is inside the lock, so that the environment is not freed.
    var descriptor: Int32 {
        var descriptor: Int32 = -1
        mdb_env_get_fd(pointer, &descriptor)
        return descriptor
    }

    /// The number of pages that are or were in use, and the size of one.
    var pageInfo: (count: Int, bytes: Int) {
        var info = MDB_envinfo()
        var stat = MDB_stat()
        mdb_env_info(pointer, &info)
        mdb_env_stat(pointer, &stat)
        return (info.me_last_pgno + 1, Int(stat.ms_psize))
    }

    fileprivate func holes(pageBytes: Int) -> FileHoles {
        FileHoles(descriptor: descriptor, path: folder.dataPath, pageBytes: pageBytes)
    }

    /// The free pages that the next commit may use: LMDB's own rule (`mdb_page_alloc`). The list has
    /// an entry for each commit that freed pages; those of commits before the oldest snapshot, and
    /// before the last commit, are reusable.
    fileprivate func reusablePages(
        in access: Access, next transaction: UInt64, count: Int
    ) throws -> FreePages {
        let oldest = min(ReaderList(of: pointer).oldest ?? .max, transaction - 1)
        var pages = FreePages(pageCount: count)
        try access.withCursor(in: .free) { cursor in
            while try cursor.next(), cursor.key.count == 8,
                cursor.key.loadUnaligned(as: UInt64.self) < oldest
            {
                let numbers = cursor.value
                guard numbers.count >= 8 else { continue }
                let listed = numbers.loadUnaligned(as: Int.self)
                for index in 1..<max(1, min(listed + 1, numbers.count / 8)) {
                    pages.insert(numbers.loadUnaligned(fromByteOffset: index * 8, as: Int.self))
                }
            }
        }
        return pages
    }
}
