/// What a write transaction remembers beside LMDB's own state. Touched by the writer thread only.
@usableFromInline
struct WriteState {
    /// Counts the changes, so that a cursor knows that others wrote since it stood still.
    @usableFromInline var changes: UInt64 = 0
    /// The state that a record follows, and the changes that were made to it.
    let overlay = UnsafeMutablePointer<Overlay>.allocate(capacity: 1)
    /// The changes of a commit that becomes a record; `nil` for one that goes into the data file.
    var draft: RecordDraft?
    /// Whether a record can't hold what is changed.
    var isTooLarge = false
    /// The bytes that a record would have for what was written.
    @usableFromInline var byteCount = 0
    /// The members of the family that the transaction sees, with those that it made.
    @usableFromInline var members = DatabaseMembers.Known()
    /// `nil` without a family.
    let memberList: DatabaseMembers?
    /// What open savepoints replaced.
    @usableFromInline var undo = UndoLog()
    /// The first failure that spoiled the transaction. It is never committed then, even if the
    /// closure swallowed the error.
    var failure: LMDBError?
    /// Whether the transaction may use the space that the journal keeps for those that free some.
    var mayTakeReserve = false

    init(_ memberList: DatabaseMembers? = nil) {
        self.memberList = memberList
        overlay.initialize(to: Overlay(at: JournalState(number: 0, journal: 0)))
    }

    /// Frees what the state keeps. To be called once, at the end.
    mutating func end() {
        overlay.deinitialize(count: 1)
        overlay.deallocate()
    }

    /// Lets go of the changes of a record, whatever became of it.
    mutating func endRecord() {
        overlay.pointee = Overlay(at: JournalState(number: 0, journal: 0))
        draft = nil
    }

    mutating func begin() {
        changes = 0
        byteCount = 0
        isTooLarge = false
        undo.end()
        failure = nil
        mayTakeReserve = false
    }
}
