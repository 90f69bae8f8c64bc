import CLMDB
import Glibc
import Threading

/// An open LMDB environment with its map lock and its writer thread.
///
/// One exists per data file and process; each ``Environment`` is a handle to it.
@usableFromInline
final class EnvironmentCore: @unchecked Sendable {
    // The pointers are constant; what they point to is used only behind the lock. `writing` and
    // the write state belong to the writer thread.

    let folder: Folder
    let options: EnvironmentOptions
    let pointer: OpaquePointer
    let key: FileKey
    /// `nil` if the lock file couldn't be made, or if the files are unlinked.
    let lockKey: FileKey?
    let mapLock = MapLock()
    let map: EnvironmentMap
    /// `nil` if reads have slots in the lock file.
    let unlocked: UnlockedReads?
    let writer: SerialThread
    let process = ProcessIdentity.current
    let databases: [String: Database]
    /// The databases of the family.
    let members: DatabaseMembers
    let committer = CheckedCommitter()
    let journalSlot: JournalSlot
    /// The small commits in a row without a journal; the writer thread's.
    var smallCommits = 0
    let state = UnsafeMutablePointer<WriteState>.allocate(capacity: 1)
    var isWriting = false
    var commitCount = 0
    /// The pages that there were when the process let go of them last; nil before the first commit.
    var pagesAtRelease: Int?

    /// Dead readers are looked for every so many commits.
    static let commitsPerReaderCheck = 256

    /// Opens the prepared and checked files of a folder.
    init(_ folder: Folder, options: EnvironmentOptions) throws(LMDBError) {
        self.folder = folder
        self.options = options
        writer = SerialThread { [mapLock] in try mapLock.checkWaiting() }
        let pointer = try Self.openPointer(folder, options)
        self.pointer = pointer
        let unlocked = UnlockedReads(pointer, folder)
        self.unlocked = unlocked
        let begun = unlocked?.lastCommit ?? 0
        let mapLock = mapLock
        map = EnvironmentMap(
            pointer: pointer, mapLock: mapLock, bytesMax: options.mapBytesMax, path: folder.path,
            memoryBytes: options.memoryBytes)
        do throws(LMDBError) {
            try unlocked?.refuseUsers()
            databases = try Self.openDatabases(
                pointer, options, folder, isNew: folder.isUnlinked)
            members = DatabaseMembers(pointer, options)
            try members.refresh()
            guard let key = try FileKey(path: folder.dataPath) else {
                throw LMDBError(.notFoundPath, "'\(folder.dataPath)' was removed while it opened.")
            }
            self.key = key
            lockKey = try FileKey(path: folder.lockPath)
            let journal = try JournalSetup.open(map, folder, options, committer, members)
            try unlocked?.check(since: begun)
            journalSlot = JournalSlot(journal)
        } catch {
            defer { mdb_env_close(pointer) }
            try unlocked?.check(since: begun)
            throw error
        }
        map.adviseReading()
        var dead: Int32 = 0
        mdb_reader_check(pointer, &dead)
        state.initialize(to: WriteState(options.family == nil ? nil : members))
    }

    deinit {
        state.pointee.end()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Closes LMDB's environment after the running reads and jobs, then calls `completion`.
    func close(completion: @escaping @Sendable () -> Void) {
        guard process.isCurrent else { return }
        precondition(!mapLock.isReading, "Close the environment after the read, not inside it.")
        writer.stop { [self] in
            let journal = journal
            journal?.finish()
            mapLock.close()
            journal?.close()
            // The last meta page may not be on disk yet; a clean end makes it so.
            if options.durability == .relaxed { mdb_env_sync(pointer, 1) }
            mdb_env_close(pointer)
            completion()
        }
    }

    /// `nil` as long as there is none.
    var journal: Journal? { journalSlot.journal }

    /// Takes the journal that a position of the data file names, if there is none yet.
    ///
    /// - Returns: It; `nil` if the data file is complete without one, and there is none.
    func joinJournal(_ position: JournalState) throws(LMDBError) -> Journal? {
        try journalSlot.join { () throws(LMDBError) in
            guard try FileKey(path: folder.dataPath) == key else {
                throw LMDBError(
                    .notFoundPath,
                    """
                    '\(folder.path)' was deleted, renamed or replaced while it was open, and the last \
                    commits are in its file 'journal'. Close the environment, and open the folder where \
                    it is now.
                    """)
            }
            return try JournalSetup.join(position, map, folder, options, committer, members)
        }
    }

    /// Throws if the process was forked since the environment was opened.
    func checkProcess() throws(LMDBError) {
        guard process.isCurrent else { throw .forked }
    }
}
