import CLMDB
import Synchronization
import Threading

/// The members of a database family that an open environment knows, and the handles that LMDB gave them.
///
/// LMDB's handles belong to a process, and a transaction sees those that were there when it began. All
/// members are opened in the order of their numbers, so that the handle follows from the number.
///
/// Handles are opened by a transaction that does nothing else, or by the write transaction that makes a
/// database. The two never overlap: each transaction first loads ``known``, then begins, and is begun again
/// after a ``refresh()`` if its snapshot has databases that were not known. So while a write transaction
/// goes on, no snapshot has any that are not known.
@usableFromInline
final class DatabaseMembers: @unchecked Sendable {  // Protected by the monitor and an atomic.
    /// What is known at a moment.
    @usableFromInline
    struct Known: Sendable {
        /// The members that are open: those with the numbers 1 to this.
        @usableFromInline var count = 0
        /// The entries of LMDB's list of databases in a snapshot that has no others.
        fileprivate var entries = 0
    }

    private let family: DatabaseFamily?
    private let named: Int
    private let pointer: OpaquePointer
    private let monitor = Monitor()
    private let packed = Atomic<UInt64>(0)

    init(_ pointer: OpaquePointer, _ options: EnvironmentOptions) {
        (self.pointer, family, named) = (pointer, options.family, options.databases.count)
    }

    /// What is known now. To be loaded before a transaction begins.
    var known: Known {
        let packed = packed.load(ordering: .acquiring)
        return Known(count: Int(packed >> 32), entries: Int(UInt32(truncatingIfNeeded: packed)))
    }

    /// Whether everything is known that a transaction sees. Costs some nanoseconds.
    func areAll(_ known: Known, in transaction: OpaquePointer) -> Bool {
        family == nil || Self.entries(in: transaction) <= known.entries
    }

    /// Notes in a slot the members that its snapshot has.
    ///
    /// - Returns: Whether all of them were known when it began.
    func note(_ known: Known, in slot: UnsafeMutablePointer<ReaderSlot>) -> Bool {
        slot.pointee.memberCount = UInt32(known.count)
        slot.pointee.namedCount = UInt32(named)
        return areAll(known, in: slot.pointee.transaction)
    }

    /// Opens the members that others have made. To be called without a transaction of the thread that
    /// writes.
    ///
    /// - Throws: `foreignFile` if a member is a database of another kind; what beginning a read throws.
    func refresh() throws(LMDBError) {
        guard let family else { return }
        try monitor.inside { () throws(LMDBError) in
            var begun: OpaquePointer?
            var status = mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &begun)
            guard status == MDB_SUCCESS, let transaction = begun else {
                throw LMDBError(status: status, "open databases")
            }
            var known = known
            let entries = Self.entries(in: transaction)
            guard entries > known.entries else { return mdb_txn_abort(transaction) }
            while known.count < family.countMax {
                status = open(known.count + 1, of: family, in: transaction)
                guard status == MDB_SUCCESS else { break }
                known.count += 1
            }
            guard status == MDB_SUCCESS || status == MDB_NOTFOUND else {
                mdb_txn_abort(transaction)
                throw Self.failed(status, family)
            }
            status = CheckedCommitter().commit(transaction)
            guard status == MDB_SUCCESS else { throw Self.failed(status, family) }
            known.entries = entries
            publish(known)
        }
    }

    /// Begins a write transaction that sees all members.
    ///
    /// - Parameter action: What fails if that does.
    func beginWriting(
        _ action: String
    ) throws(LMDBError) -> (transaction: OpaquePointer, known: Known) {
        while true {
            let known = known
            var begun: OpaquePointer?
            let status = mdb_txn_begin(pointer, nil, 0, &begun)
            guard status == MDB_SUCCESS, let transaction = begun else {
                throw LMDBError(status: status, action)
            }
            if areAll(known, in: transaction) { return (transaction, known) }
            mdb_txn_abort(transaction)
            try refresh()
        }
    }

    /// Makes members up to a number in a write transaction, which commits by ``committing(_:_:)``.
    ///
    /// - Parameter known: What is known in the transaction; gets the new ones.
    /// - Returns: LMDB's status.
    func make(
        through count: Int, in transaction: OpaquePointer, _ known: inout Known
    ) -> Int32 {
        guard let family, count <= family.countMax else { return MDB_DBS_FULL }
        while known.count < count {
            let status = open(known.count + 1, of: family, in: transaction, create: true)
            guard status == MDB_SUCCESS else { return status }
            known.count += 1
        }
        known.entries = Self.entries(in: transaction)
        return MDB_SUCCESS
    }

    /// Runs the commit of a transaction that made members, and makes them known if it succeeds.
    func committing(
        _ made: Known, _ commit: () throws(LMDBError) -> Int32
    ) throws(LMDBError) -> Int32 {
        guard made.count > known.count else { return try commit() }
        monitor.enter()
        defer { monitor.leave() }
        let status = try commit()
        if status == MDB_SUCCESS { publish(made) }
        return status
    }

    private func publish(_ known: Known) {
        packed.store(
            UInt64(known.count) << 32 | UInt64(UInt32(known.entries)), ordering: .releasing)
    }

    private func open(
        _ member: Int, of family: DatabaseFamily, in transaction: OpaquePointer,
        create: Bool = false
    ) -> Int32 {
        var handle: MDB_dbi = 0
        let status = mdb_dbi_open(
            transaction, family.name(of: member), create ? UInt32(MDB_CREATE) : 0, &handle)
        guard status == MDB_SUCCESS else { return status }
        var flags: UInt32 = 0
        mdb_dbi_flags(transaction, handle, &flags)
        let isExpected = handle == Database(member: member, named: named).handle
        return isExpected && flags & ~UInt32(MDB_CREATE) == 0 ? MDB_SUCCESS : MDB_INCOMPATIBLE
    }

    /// The entries of LMDB's list of databases: their names, and that of a journal.
    private static func entries(in transaction: OpaquePointer) -> Int {
        var stat = MDB_stat()
        mdb_stat(transaction, Database.main.handle, &stat)
        return stat.ms_entries
    }

    private static func failed(_ status: Int32, _ family: DatabaseFamily) -> LMDBError {
        guard status == MDB_INCOMPATIBLE else {
            return LMDBError(status: status, "open the databases '\(family.prefix)…'")
        }
        return LMDBError(
            .foreignFile,
            "A database '\(family.prefix)…' was made by another program. Check the path.",
            underlying: status)
    }
}

extension Access {
    /// A member of the family; `nil` if the transaction sees none with the number.
    @inlinable
    package func member(_ member: Int) -> Database? {
        let count = if let state { state.pointee.members.count } else { Int(memberCount) }
        return member > 0 && member <= count
            ? Database(member: member, named: Int(namedCount)) : nil
    }

    /// How many members of the family the transaction sees.
    package var members: Int { state?.pointee.members.count ?? Int(memberCount) }

    /// Makes the members of the family up to a number that are not there yet. A savepoint does not take
    /// them back.
    ///
    /// - Throws: As ``put(_:_:in:)``.
    package func makeMembers(through count: Int) throws(LMDBError) {
        guard let state else {
            preconditionFailure("A read transaction can't write. Use Environment.write.")
        }
        guard state.pointee.members.count < count else { return }
        // No record of a journal can make a database.
        if overlay != nil { throw tooLarge() }
        state.pointee.isTooLarge = true
        guard let members = state.pointee.memberList else {
            preconditionFailure("The environment has no family of databases.")
        }
        let status = members.make(through: count, in: changing(), &state.pointee.members)
        guard status == MDB_SUCCESS else { throw failed(status, "make a database") }
    }
}
