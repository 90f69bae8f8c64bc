/// What a write transaction remembers beside LMDB's own state. Touched by the writer thread only.
@usableFromInline
struct WriteState {
    /// Counts the changes, so that a cursor knows that others wrote since it stood still.
    @usableFromInline var changes: UInt64 = 0
    /// What was changed.
    @usableFromInline var redo = RedoBuffer()
    /// What open savepoints replaced.
    @usableFromInline var undo = UndoLog()
    /// The first failure that spoiled the transaction. It is never committed then, even if the
    /// closure swallowed the error.
    var failure: LMDBError?
    /// Whether the transaction may use the space that the redo file keeps for those that free some.
    var mayTakeReserve = false

    @usableFromInline init() {}

    mutating func begin(isRecorded: Bool) {
        changes = 0
        redo.begin(isRecording: isRecorded)
        undo.end()
        failure = nil
        mayTakeReserve = false
    }
}
