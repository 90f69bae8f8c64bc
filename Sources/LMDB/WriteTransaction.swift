public import CLMDB

/// A transaction that may write. It exists only inside the closure of ``Environment/write(_:)``.
@usableFromInline
package struct WriteTransaction: ~Copyable {
    /// The view through which the transaction reads and writes. It sees its own writes.
    @usableFromInline package let access: Access

    @inlinable
    init(_ access: Access) {
        self.access = access
    }

    /// Lets the transaction have the space of the journal where the disk is full: it frees more than
    /// it takes. Other writes fail until they have filled that space up again, so that they never
    /// use up the last of it.
    package func mayTakeReserve() { access.state?.pointee.mayTakeReserve = true }

    /// The id that the transaction has once it is committed.
    @inlinable package var id: UInt64 { UInt64(mdb_txn_id(access.transaction)) }
}
