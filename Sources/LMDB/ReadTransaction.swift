public import CLMDB

/// A snapshot of the environment. It exists only inside the closure of ``Environment/read(_:)``.
@usableFromInline
package struct ReadTransaction: ~Copyable {
    /// The view through which the snapshot is read.
    @usableFromInline package let access: Access

    @inlinable
    init(_ access: Access) {
        self.access = access
    }

    /// The id of the last transaction that the snapshot contains.
    @inlinable package var id: UInt64 { UInt64(mdb_txn_id(access.transaction)) }
}
