/// A pooled read transaction that keeps its slot in the lock file between two reads.
@usableFromInline
struct ReaderSlot {
    /// Renewed while a read runs, reset otherwise.
    @usableFromInline let transaction: OpaquePointer
    /// The thread whose read uses the slot; 0 if none does.
    var thread: UInt = 0
    /// The next idle slot.
    var nextIdle: UnsafeMutablePointer<ReaderSlot>?

    init(transaction: OpaquePointer) {
        self.transaction = transaction
    }
}
