public import CLMDB

/// A named table of an environment.
///
/// The value stays valid as long as the environment is open. Keys are unique, have 1 to 511 bytes
/// and sort as unsigned bytes.
@usableFromInline
package struct Database: Sendable, Hashable {
    /// What LMDB calls it in this process.
    @usableFromInline let handle: MDB_dbi
    /// What all processes call it, and records of the journal (``EnvironmentOptions/name(ofDatabase:)``);
    /// ``unnumbered`` for LMDB's own lists.
    @usableFromInline let number: UInt16

    /// The first handle that LMDB gives to a named database: 0 and 1 are its own.
    static let firstHandle: MDB_dbi = 2
    static let unnumbered = UInt16.max

    init(handle: MDB_dbi, number: UInt16 = unnumbered) {
        self.handle = handle
        self.number = number
    }

    /// One that is opened with the environment, by its place in ``EnvironmentOptions/databases``.
    init(index: Int) {
        handle = Self.firstHandle + MDB_dbi(index)
        number = UInt16(index)
    }
}

extension EnvironmentOptions {
    /// The name of the database that records of the journal call by a number; `nil` if there is none.
    ///
    /// The one place that knows: the first numbers are the places in ``databases``.
    func name(ofDatabase number: UInt16) -> String? {
        Int(number) < databases.count ? databases[Int(number)] : nil
    }

    /// Finds the database of a number in a write transaction of LMDB, in which it is opened if this
    /// process doesn't have it yet. If the transaction is aborted, LMDB takes that back.
    ///
    /// LMDB lets one transaction of a process at a time do this.
    ///
    /// - Returns: LMDB's handle, and its status.
    func openDatabase(
        _ number: UInt16, in transaction: OpaquePointer
    ) -> (handle: MDB_dbi, status: Int32) {
        if Int(number) < databases.count { return (Database(index: Int(number)).handle, 0) }
        guard let name = name(ofDatabase: number) else { return (0, MDB_NOTFOUND) }
        var handle: MDB_dbi = 0
        let status = mdb_dbi_open(transaction, name, 0, &handle)
        return (handle, status)
    }
}
