import Glibc
import Synchronization

/// What the processes tell each other: the second page of a journal, mapped by all of them.
///
/// | offset | bytes | word                                                               |
/// |--------|-------|--------------------------------------------------------------------|
/// | 0      | 16    | the running system that the others belong to                       |
/// | 16     | 8     | tail: number of the last commit                                    |
/// | 24     | 8     | applied: LMDB has this state on disk                               |
/// | 32     | 8     | last record of the half that records don't go into                 |
/// | 40     | 8     | 1 while a commit is under way                                      |
/// | 48     | 8     | number of the last record, which is on disk; 0 if there is none    |
/// | 64     | 1     | bell: written to after each commit, for those who watch the file   |
///
/// It is never synced, and the disk may be older in it than in the records: after a restart of the
/// system, or if the disk was away and came back. So nothing in it counts unless processes had the file
/// open for writing without a gap since the words were made (``JournalSession``).
struct SharedJournalPage: ~Copyable {
    static let offset = 4_096
    static let bellOffset = 64
    static let byteCount = 4_096

    private let page: UnsafeMutableRawPointer
    private let boot: BootID?
    private let session: JournalSession
    /// What words of the running system said that don't count, when they were mapped; `nil` if there were
    /// none.
    let left: Left?

    /// What may be older than the records are, and never newer.
    struct Left {
        /// The number of the last commit; the greatest number if one was under way.
        let tail: UInt64
        /// The number of the last record.
        let record: UInt64
    }

    /// Maps the page of an open file, and joins those who have it open.
    ///
    /// - Parameter boot: The running system; `nil` if it can't be told.
    init(
        mapping descriptor: Int32, isReadOnly: Bool, boot: BootID?, path: String
    ) throws(LMDBError) {
        let protection = isReadOnly ? PROT_READ : PROT_READ | PROT_WRITE
        let page = mmap(
            nil, Self.byteCount, protection, MAP_SHARED, descriptor, Self.offset)
        guard let page, page != MAP_FAILED else { throw LMDBError(errno: errno, "map", path: path) }
        let session = JournalSession(of: descriptor, isReadOnly: isReadOnly)
        var left: Left?
        do throws(LMDBError) {
            if isReadOnly {
                if !session.isLive { left = Self.left(page, boot) }
            } else if try session.begin(path) {
                left = Self.left(page, boot)
                // No system has this id.
                Self.word(page, 0).pointee.store(0, ordering: .releasing)
                Self.word(page, 8).pointee.store(0, ordering: .releasing)
                try session.join(path)
            }
        } catch {
            munmap(page, Self.byteCount)
            throw error
        }
        self.page = page
        self.boot = boot
        self.session = session
        self.left = left
    }

    private static func left(_ page: UnsafeMutableRawPointer, _ boot: BootID?) -> Left? {
        func load(_ offset: Int) -> UInt64 { word(page, offset).pointee.load(ordering: .acquiring) }
        guard let boot, load(0) == boot.high, load(8) == boot.low else { return nil }
        return Left(tail: load(40) == 0 ? load(16) : .max, record: load(48))
    }

    deinit { munmap(page, Self.byteCount) }

    private static func word(
        _ page: UnsafeMutableRawPointer, _ offset: Int
    ) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (page + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private func load(_ offset: Int) -> UInt64 {
        Self.word(page, offset).pointee.load(ordering: .acquiring)
    }

    private func store(_ number: UInt64, _ offset: Int) {
        Self.word(page, offset).pointee.store(number, ordering: .releasing)
    }

    /// Whether the words count. If not, the records alone do. Without the id of the running system they
    /// never do.
    var isCurrent: Bool {
        // Who joins makes them invalid first.
        guard let boot, session.isLive else { return false }
        return load(0) == boot.high && load(8) == boot.low
    }

    /// Takes the words over for the running system, once they are right.
    func makeCurrent() {
        guard let boot else { return }
        store(boot.high, 0)
        store(boot.low, 8)
    }

    /// The number of the last commit.
    var tail: UInt64 {
        get { load(16) }
        nonmutating set { store(newValue, 16) }
    }

    /// The number of the last commit; `nil` if the words don't tell it.
    var knownTail: UInt64? { isCurrent ? tail : nil }

    /// The state that LMDB has on disk.
    var applied: UInt64 { load(24) }

    /// Notes that LMDB has a state on disk, and keeps a greater number.
    func raiseApplied(to number: UInt64) {
        var known = load(24)
        while known < number {
            let (exchanged, original) = Self.word(page, 24).pointee.compareExchange(
                expected: known, desired: number, ordering: .acquiringAndReleasing)
            if exchanged { return }
            known = original
        }
    }

    /// Sets the number of the state that LMDB has on disk, whatever is there.
    func resetApplied(to number: UInt64) { store(number, 24) }

    /// The last record of the half that records don't go into.
    var otherHalfEnd: UInt64 {
        get { load(32) }
        nonmutating set { store(newValue, 32) }
    }

    /// The number of the last record, which is on disk; 0 if there is none.
    var record: UInt64 {
        get { load(48) }
        nonmutating set { store(newValue, 48) }
    }

    /// Whether a commit is under way, or its process died in it.
    var isCommitting: Bool {
        get { load(40) != 0 }
        nonmutating set { store(newValue ? 1 : 0, 40) }
    }
}
