import CLMDB
import Glibc

extension Environment {
    /// Copies the last commit into a new folder, without free pages, while reading and writing
    /// go on.
    ///
    /// The folder appears when the copy is complete, checked and on disk. Copying takes a
    /// snapshot: until it ends, pages that writers free can't be used again.
    ///
    /// - Parameter finish: May open and change the copy at the path that it gets, before the folder
    ///   appears, and has to close it. If it throws, there is no copy.
    /// - Throws: `other` if the folder exists; `diskFull`; `damaged` if the copy is; what `finish`
    ///   throws.
    /// - Complexity: O(*n*) in the pages in use.
    package func copy(
        to directory: String, finish: (String) throws -> Void = { _ in }
    ) throws {
        try checkOpen()
        let target = Folder(path: directory)
        guard try FileKey(path: target.path) == nil else {
            throw LMDBError(.other, "'\(target.path)' exists. Copy to a path where nothing is.")
        }
        let draft = try Draft(of: target)
        try core.copy(to: draft.folder.path)
        try DataFile.check(path: draft.folder.dataPath, visitsAllPages: true)
        try finish(draft.folder.path)
        // What opening left behind speaks of the draft's path and process.
        unlink(draft.folder.lockPath)
        unlink(draft.folder.journalPath)
        // LMDB never syncs a copy.
        try draft.sync()
        guard rename(draft.folder.path, target.path) == 0 else {
            throw LMDBError(errno: errno, "create", path: target.path)
        }
        try Folder.sync(target.parent)
    }
}

extension EnvironmentCore {
    /// Writes `data.mdb` into an empty folder.
    fileprivate func copy(to path: String) throws(LMDBError) {
        if !options.isReadOnly { _ = try journal?.applyInGate() }
        // LMDB begins a read of its own for the copy.
        try gate.inside { () throws(LMDBError) in
            let status = mdb_env_copy2(pointer, path, UInt32(MDB_CP_COMPACT))
            guard status == MDB_SUCCESS else {
                throw LMDBError(status: status, "copy to '\(path)'")
            }
        }
        try complete(Folder(path: path))
    }

    /// Puts what waits into a copy, and makes it one that has no journal.
    private func complete(_ copy: Folder) throws(LMDBError) {
        var options = options
        options.isReadOnly = false
        options.durability = .full
        options.addsDatabases = false
        let pointer = try Self.openPointer(copy, options)
        defer { mdb_env_close(pointer) }
        _ = try Self.openDatabases(pointer, options, copy)
        try DatabaseMembers(pointer, options).refresh()
        var begun: OpaquePointer?
        var status = mdb_txn_begin(pointer, nil, 0, &begun)
        guard status == MDB_SUCCESS, let transaction = begun else {
            throw LMDBError(status: status, "complete a copy")
        }
        do throws(LMDBError) {
            let last = UInt64(mdb_txn_id(transaction)) - 1
            guard let position = try JournalPosition.read(in: transaction, last: last) else {
                mdb_txn_abort(transaction)
                return
            }
            // Without its journal the data file is complete.
            status =
                if let journal = try joinJournal(position) {
                    try complete(transaction, from: journal)
                } else {
                    JournalPosition.remove(in: transaction)
                }
            guard status == MDB_SUCCESS else { throw LMDBError(status: status, "complete a copy") }
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        status = Committer().commit(transaction)
        guard status == MDB_SUCCESS else { throw LMDBError(status: status, "complete a copy") }
    }

    /// Puts what waits into a copy of the data file, which has no journal then.
    ///
    /// - Parameter transaction: The copy's first.
    /// - Returns: LMDB's status.
    /// - Throws: `busy` if what a copy of a read-only environment lacks was applied meanwhile.
    private func complete(
        _ transaction: OpaquePointer, from journal: Journal
    ) throws(LMDBError) -> Int32 {
        let last = UInt64(mdb_txn_id(transaction)) - 1
        let position = try journal.position(in: transaction, last: last)
        switch try journal.fit(position) {
        case .complete: break
        case .lacks(let overlay):
            let status = overlay.apply(to: transaction, after: position.number, options)
            guard status == MDB_SUCCESS else { return status }
        case .stale:
            // What waited when the copy began was applied before.
            guard journal.file.isReadOnly else { break }
            throw LMDBError(.busy, "Another process wrote while the copy was made. Try again.")
        }
        return JournalPosition.remove(in: transaction)
    }
}
