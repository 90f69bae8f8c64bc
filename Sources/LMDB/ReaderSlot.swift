import CLMDB

/// A pooled read transaction that keeps its slot in the lock file between two reads.
@usableFromInline
struct ReaderSlot {
    /// Renewed while a read runs, reset otherwise.
    @usableFromInline let transaction: OpaquePointer
    /// The changes of records that the snapshot lacks; `nil` if it lacks none, or nobody reads.
    @usableFromInline var overlay: UnsafeMutablePointer<Overlay>?
    /// The number of the state that is read; 0 without a journal.
    @usableFromInline var number: UInt64 = 0
    /// The members of the family that the snapshot has, and how many databases the options name.
    @usableFromInline var memberCount: UInt32 = 0
    @usableFromInline var namedCount: UInt32 = 0
    /// Where keys are looked up without LMDB; `nil` if they are not.
    @usableFromInline var trees: UnsafeMutablePointer<SnapshotTrees>?
    /// The position of the snapshot that the transaction had when it was looked at last.
    var position = JournalState(number: 0, journal: 0)
    /// The last commit in that snapshot.
    var positionTransaction: UInt64 = 0
    /// The last commit of which it is known that nothing waits behind it in a journal.
    var plainTransaction: UInt64 = 0
    /// The thread whose read uses the slot; 0 if none does.
    var thread: UInt = 0
    /// What the transaction is of.
    @usableFromInline var core: Unmanaged<EnvironmentCore>?
    /// The next idle slot.
    var nextIdle: UnsafeMutablePointer<ReaderSlot>?

    static func make(_ transaction: OpaquePointer) -> UnsafeMutablePointer<ReaderSlot> {
        let slot = UnsafeMutablePointer<ReaderSlot>.allocate(capacity: 1)
        slot.initialize(to: ReaderSlot(transaction: transaction))
        return slot
    }

    /// Frees a slot whose transaction has ended.
    static func free(_ slot: UnsafeMutablePointer<ReaderSlot>) {
        slot.pointee.setOverlay(nil)
        slot.pointee.trees?.deinitialize(count: 1)
        slot.pointee.trees?.deallocate()
        slot.deinitialize(count: 1)
        slot.deallocate()
    }

    /// Keeps an overlay until the read ends.
    mutating func setOverlay(_ overlay: Overlay?) {
        if let old = self.overlay {
            old.deinitialize(count: 1)
            old.deallocate()
        }
        self.overlay = nil
        guard let overlay else { return }
        let pointer = UnsafeMutablePointer<Overlay>.allocate(capacity: 1)
        pointer.initialize(to: overlay)
        self.overlay = pointer
    }
}
