import CLMDB
import Glibc

extension Environment {
    /// Copies the last commit into a new folder, without free pages, while reading and writing
    /// go on. Records of a journal that wait are put into it.
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
        let staging = try StagingFolder(of: target)
        let folder = staging.folder
        try read { try core.copy($0.access, to: folder) }
        try DataFile.check(path: staging.folder.dataPath, visitsAllPages: true)
        try finish(staging.folder.path)
        // What opening left behind speaks of the staging folder's path and process.
        unlink(staging.folder.lockPath)
        unlink(staging.folder.journalPath)
        // LMDB never syncs a copy.
        try staging.sync()
        guard rename(staging.folder.path, target.path) == 0 else {
            throw LMDBError(errno: errno, "create", path: target.path)
        }
        try Folder.sync(target.parent)
    }
}

extension EnvironmentCore {
    /// Writes the state that a read has, or a later one, into an empty folder.
    fileprivate func copy(_ access: Access, to folder: Folder) throws(LMDBError) {
        TestPoint.mark("a copy begins")
        // LMDB begins a read of its own for the copy.
        let status = mdb_env_copy2(pointer, folder.path, UInt32(MDB_CP_COMPACT))
        guard status == MDB_SUCCESS else {
            throw LMDBError(status: status, "copy to '\(folder.path)'")
        }
        // LMDB lets others read a copy, unlike a file that it opens.
        guard chmod(folder.dataPath, 0o600) == 0 else {
            throw LMDBError(errno: errno, "change the mode of", path: folder.dataPath)
        }
        TestPoint.mark("a copy was made")
        try complete(folder, with: access.overlay?.pointee)
    }

    /// Puts what waits into a copy, and makes it one that has no journal.
    ///
    /// - Parameter overlay: What the read lacks that began before the copy. It has all commits from
    ///   that read's position on to its last one; the copy is at one of them, or has later ones
    ///   too, and then needs nothing.
    private func complete(_ copy: Folder, with overlay: Overlay?) throws(LMDBError) {
        var options = options
        options.isReadOnly = false
        options.durability = .full
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
            guard let position = try JournalState.read(in: transaction, last: last) else {
                mdb_txn_abort(transaction)
                return
            }
            if let overlay, overlay.top > position.number {
                status = overlay.apply(to: transaction, after: position.number, options)
            }
            if status == MDB_SUCCESS { status = JournalState.remove(in: transaction) }
            guard status == MDB_SUCCESS else { throw LMDBError(status: status, "complete a copy") }
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        status = CheckedCommitter().commit(transaction)
        guard status == MDB_SUCCESS else { throw LMDBError(status: status, "complete a copy") }
    }
}
