import CLMDB
import Glibc
import Threading

/// Commits with one write of a record to the file `journal`, where LMDB needs two syncs of
/// scattered pages. Records wait in the file and in memory (``Overlay``) until they are applied:
/// put into the data file together, in a transaction that LMDB syncs as any other.
///
/// Every state has a number: each commit makes the next one, with a record or without. LMDB's
/// content says which state it is (``JournalState``); that state and the records that follow
/// without a gap are all commits. So a crash needs no repair: what is found is what was committed.
///
/// | lock    | what                                   | held                                      |
/// |---------|----------------------------------------|-------------------------------------------|
/// | role    | `flock` of the file, by all processes  | from the begin of a commit to its end     |
/// | LMDB's  | its writers' mutex                     | while the data file is written to         |
/// | monitor | of the process                         | while the known overlay changes           |
///
/// They are taken in this order. Applying takes LMDB's only.
///
/// 1. A record is written only when the state before it is on disk.
/// 2. Records behind `applied` are not overwritten.
/// 3. `tail` names states that are on disk; nothing after the write of a record can fail.
/// 4. A reader's overlay begins at or before LMDB's position, and ends at or behind it.
final class Journal: @unchecked Sendable {  // Protected by the monitor and the locks of the table.
    let pointer: OpaquePointer
    let map: EnvironmentMap
    let file: JournalFile
    let words: SharedJournalPage
    let limits: JournalLimits
    let committer: CheckedCommitter
    let mapLock: MapLock
    let options: EnvironmentOptions
    let members: DatabaseMembers
    /// Whether commits of this process may become records.
    let isWanted: Bool
    /// Whether what this process commits to the data file is on disk then.
    let isDurable: Bool
    /// Part of the links behind commits without a record.
    let salt = JournalChance.number()
    let monitor = Monitor()
    /// The records that wait, as far as this process knows them; `nil` if it knows of none.
    var known: Overlay?
    /// What was applied here last. Behind the monitor, like the end.
    var applied: UInt64 = 0
    var end = JournalEnd()
    /// Where records are read to; behind the monitor.
    var readBlock: JournalBlock?
    /// Where records of this process are made; the writer thread's.
    var writeBlock: JournalBlock?
    /// What the writer thread's commits begin with.
    var snapshot: UnsafeMutablePointer<ReaderSlot>?
    /// The small commits in a row; the writer thread's.
    var smallCommits = 0
    /// Whether a half lost blocks to a full disk; the writer thread's.
    var hasHoles = false
    /// Whether records could not be applied for want of space. Behind the monitor.
    var lacksSpace = false
    let applier: JournalApplier

    init(
        _ map: EnvironmentMap, _ file: JournalFile, _ options: EnvironmentOptions,
        _ committer: CheckedCommitter, _ members: DatabaseMembers
    ) throws(LMDBError) {
        self.map = map
        self.file = file
        self.committer = committer
        (pointer, mapLock) = (map.pointer, map.mapLock)
        limits = options.journal ?? JournalLimits()
        self.options = options
        self.members = members
        isWanted = options.wantsJournal
        isDurable = options.durability == .full
        applier = JournalApplier(idleMilliseconds: limits.idleMilliseconds)
        words = try file.words(boot: options.boot)
        applier.begin { [unowned self] in try applyInGate() }
    }

    /// The state that a transaction of LMDB begins with.
    func position(
        in transaction: OpaquePointer, last: UInt64
    ) throws(LMDBError) -> JournalState {
        guard let position = try JournalState.read(in: transaction, last: last) else {
            throw LMDBError(
                .damaged,
                """
                The data file beside '\(file.path)' doesn't know of the journal: it was replaced. Keep \
                both: the journal may have more commits. If that was on purpose, close all stores there and \
                move 'journal' elsewhere; if not, restore a backup, or run 'backstitch doctor' on the folder.
                """)
        }
        guard position.journal == file.id else { throw .foreignJournal(file.path) }
        return position
    }
}

// MARK: Opening

extension Journal {
    /// Settles what earlier processes left, at opening.
    ///
    /// If another process is about to commit, it settles that; whoever opens doesn't wait for it. If
    /// there can be no records, the first who commits does.
    func takeOver(_ position: JournalState) throws(LMDBError) {
        guard !position.isEnd(by: words), try file.tryLock() else { return }
        defer { file.unlock() }
        do throws(LMDBError) {
            try settle()
        } catch {
            // A full disk doesn't keep readers out. The next who writes tries again.
            guard error.isAboutSpace else { throw error }
        }
    }
}

extension EnvironmentOptions {
    /// Whether commits may become records. Without the id of the running system nobody could tell
    /// what processes say of each other from what is left of an earlier one.
    var wantsJournal: Bool {
        journal != nil && durability == .full && !isReadOnly && boot != nil
    }
}

extension LMDBError {
    static func foreignJournal(_ path: String) -> LMDBError {
        LMDBError(
            .damaged,
            """
            The last commits of the data file are in a journal that is missing: '\(path)' is not there, \
            or belongs to another data file. Keep what is there. Put the right journal back, restore the \
            folder from a backup, or run 'backstitch doctor' on it.
            """)
    }

    /// A journal that knows less than the data file.
    static func olderJournal(_ path: String) -> LMDBError {
        LMDBError(
            .damaged,
            """
            '\(path)' is older than the data file beside it, whose last commits may be in a newer one. \
            Keep both files. Put the newer journal back, restore the folder from a backup, or run \
            'backstitch doctor' on it.
            """)
    }

    /// As ``journalGap(_:)``, where the data file may be another one than that which is open.
    static func copiedUp(_ path: String) -> LMDBError {
        LMDBError(
            .damaged,
            """
            '\(path)' lacks a record of a commit. It is on an overlay file system, which copies a file when it \
            is written to for the first time: a process that had the store open before keeps the old \
            file. Open the store again, and keep it in a volume. If that does not help, run \
            'backstitch doctor' on it.
            """)
    }

    /// A journal without a record that was committed.
    static func journalGap(_ path: String) -> LMDBError {
        LMDBError(
            .damaged,
            """
            '\(path)' lacks a record that was committed after the last one in the data file: one of the \
            two was replaced, or another program wrote to the data file. Keep both: the journal may have \
            commits that nothing else has. If you put an older data.mdb in place on purpose, move \
            'journal' to another folder; otherwise restore the folder from a backup, or run 'backstitch \
            doctor' on it.
            """)
    }
}
