public import CLMDB
import Glibc

/// A copyable view of a transaction, to hand to functions that read or write.
///
/// Valid only inside the closure that got the transaction; using it later is undefined. Reading
/// works in both kinds of transactions. Writing in a read transaction is a programming error and
/// traps.
@usableFromInline
package struct Access {
    @usableFromInline let transaction: OpaquePointer
    /// `nil` in a read transaction.
    @usableFromInline let state: UnsafeMutablePointer<WriteState>?
    /// The changes that the transaction of LMDB lacks; `nil` if there are none.
    @usableFromInline let overlay: UnsafeMutablePointer<Overlay>?
    /// The state that the transaction began with; 0 without a journal.
    @usableFromInline let number: UInt64
    /// What ends the read if its task is cancelled; `nil` if nothing does. Whoever reads keeps it.
    @usableFromInline let interruption: Unmanaged<ReadInterruption>?
    /// The members of the family that a read transaction sees.
    @usableFromInline let memberCount: UInt32
    /// How many databases the options name.
    @usableFromInline let namedCount: UInt32
    /// What a snapshot is of; `nil` of other transactions.
    @usableFromInline let core: Unmanaged<EnvironmentCore>?
    /// Where keys of a snapshot are looked up without LMDB; `nil` if they are not.
    @usableFromInline let trees: UnsafeMutablePointer<SnapshotTrees>?

    @inlinable
    init(
        _ transaction: OpaquePointer, state: UnsafeMutablePointer<WriteState>? = nil,
        overlay: UnsafeMutablePointer<Overlay>? = nil, number: UInt64 = 0,
        interruption: ReadInterruption? = nil, memberCount: UInt32 = 0, namedCount: UInt32 = 0,
        core: Unmanaged<EnvironmentCore>? = nil,
        trees: UnsafeMutablePointer<SnapshotTrees>? = nil
    ) {
        self.core = core
        self.trees = trees
        self.memberCount = memberCount
        self.namedCount = namedCount
        self.interruption = interruption.map { Unmanaged.passUnretained($0) }
        self.transaction = transaction
        self.state = state
        self.overlay = overlay
        self.number = number
    }

    /// A view of a snapshot.
    @inlinable
    init(_ slot: UnsafeMutablePointer<ReaderSlot>, _ interruption: ReadInterruption?) {
        self.init(
            slot.pointee.transaction, overlay: slot.pointee.overlay, number: slot.pointee.number,
            interruption: interruption, memberCount: slot.pointee.memberCount,
            namedCount: slot.pointee.namedCount, core: slot.pointee.core, trees: slot.pointee.trees)
    }

    /// The number of the commit whose state the transaction began with: each has a greater one than
    /// the one before.
    package var commit: UInt64 {
        number > 0 ? number : UInt64(mdb_txn_id(transaction)) - (canWrite ? 1 : 0)
    }

    /// Whether the view belongs to a write transaction.
    @inlinable package var canWrite: Bool { state != nil }

    /// The value of a key, or `nil` if there is none.
    ///
    /// The bytes lie in the map and aren't copied. They are valid until the transaction ends, in a
    /// write transaction until its next write.
    ///
    /// - Throws: `keyEmpty` or `keyTooLong`; `damaged` if the file is.
    /// - Complexity: O(log *n*) in the number of entries.
    @inlinable
    package func get(
        _ key: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) -> UnsafeRawBufferPointer? {
        var name = try Self.value(key: key)
        try interruption?.takeUnretainedValue().step()
        if overlay != nil {
            switch waiting(key, in: database) {
            case .nothing: break
            case .deleted: return nil
            case .value(let bytes): return bytes
            }
        }
        if let found = trees?.pointee.find(key, in: database, transaction) { return found }
        var value = MDB_val()
        let status = mdb_get(transaction, database.handle, &name, &value)
        if status == MDB_SUCCESS {
            return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
        }
        if status == MDB_NOTFOUND { return nil }
        throw failed(status, "read a key")
    }

    /// The number of entries.
    ///
    /// - Complexity: O(1); O(*n* log *n*) in the changes that wait in a journal.
    package func count(of database: Database) throws(LMDBError) -> Int {
        try mergedCount(statistics(of: database).entries, of: database)
    }

    /// A number of entries that there are at most: each change that waits counts as a new one.
    ///
    /// - Complexity: O(*n*) in 64ths of the changes that wait in a journal.
    package func countLimit(of database: Database) throws(LMDBError) -> Int {
        let waiting = overlay?.pointee.run(of: database.number).count ?? 0
        return try statistics(of: database).entries + waiting
    }

    /// The size and shape of a database in the data file, without what waits in a journal.
    ///
    /// - Complexity: O(1)
    package func statistics(of database: Database) throws(LMDBError) -> Statistics {
        var stat = MDB_stat()
        let status = mdb_stat(transaction, database.handle, &stat)
        guard status == MDB_SUCCESS else { throw failed(status, "read the statistics") }
        return Statistics(
            entries: stat.ms_entries, depth: Int(stat.ms_depth),
            branchPages: stat.ms_branch_pages, leafPages: stat.ms_leaf_pages,
            overflowPages: stat.ms_overflow_pages)
    }

    /// Runs a closure with a cursor that stands before the first entry.
    ///
    /// - Throws: ``LMDBError``, or what the closure throws.
    @inlinable
    package func withCursor<R>(
        in database: Database, _ body: (inout Cursor) throws -> R
    ) throws -> R {
        var cursor = try Cursor(self, in: database)
        return try body(&cursor)
    }

    /// Checks the length of a key and turns it into what LMDB takes.
    @inlinable
    static func value(key: UnsafeRawBufferPointer) throws(LMDBError) -> MDB_val {
        // One comparison for both ends: 0 wraps around to the largest number.
        guard UInt(bitPattern: key.count) &- 1 < 511 else { throw .keyLength(key.count) }
        return MDB_val(
            mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
    }

    /// The error for a return value; a write transaction remembers that it is spoiled.
    @usableFromInline
    func failed(_ status: Int32, _ action: String) -> LMDBError {
        // Pages that don't fit into memory are written before the commit, and never synced there. A
        // write that was cut short is no failed call: then the disk is full.
        let isCutShort = status == EIO && errno != EIO
        let error = LMDBError(status: isCutShort ? ENOSPC : status, action)
        if let state, state.pointee.failure == nil { state.pointee.failure = error }
        return error
    }
}
