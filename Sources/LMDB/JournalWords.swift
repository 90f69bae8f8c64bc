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
/// | 64     | 1     | bell: written to after each commit, for those who watch the file   |
///
/// It is never synced. After a restart of the system nothing in it counts.
struct JournalWords: ~Copyable {
    static let offset = 4_096
    static let bellOffset = 64
    private static let byteCount = 4_096

    private let page: UnsafeMutableRawPointer
    private let boot: BootID?

    /// Maps the page of an open file.
    ///
    /// - Parameter boot: The running system; `nil` if it can't be told.
    init(
        mapping descriptor: Int32, isReadOnly: Bool, boot: BootID?, path: String
    ) throws(LMDBError) {
        let protection = isReadOnly ? PROT_READ : PROT_READ | PROT_WRITE
        let page = mmap(
            nil, Self.byteCount, protection, MAP_SHARED, descriptor, Self.offset)
        guard let page, page != MAP_FAILED else { throw LMDBError(errno: errno, "map", path: path) }
        self.page = page
        self.boot = boot
    }

    deinit { munmap(page, Self.byteCount) }

    private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (page + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private func load(_ offset: Int) -> UInt64 { word(offset).pointee.load(ordering: .acquiring) }

    private func store(_ number: UInt64, _ offset: Int) {
        word(offset).pointee.store(number, ordering: .releasing)
    }

    /// Whether the words are of the running system. Where that can't be told, they never are, and the
    /// records alone count.
    var isCurrent: Bool {
        guard let boot else { return false }
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

    /// The number of the last commit; `nil` if it isn't known after a restart of the system.
    var knownTail: UInt64? { isCurrent ? tail : nil }

    /// The state that LMDB has on disk.
    var applied: UInt64 { load(24) }

    /// Notes that LMDB has a state on disk, and keeps a greater number.
    func raiseApplied(to number: UInt64) {
        var known = load(24)
        while known < number {
            let (exchanged, original) = word(24).pointee.compareExchange(
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

    /// Whether a commit is under way, or its process died in it.
    var isCommitting: Bool {
        get { load(40) != 0 }
        nonmutating set { store(newValue ? 1 : 0, 40) }
    }
}
