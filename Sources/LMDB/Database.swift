public import CLMDB

/// A named table of an environment: one of ``EnvironmentOptions/databases``, or a member of the family.
///
/// The value stays valid as long as the environment is open. Keys are unique, have 1 to 511 bytes
/// and sort as unsigned bytes.
@usableFromInline
package struct Database: Sendable, Hashable {
    /// What LMDB calls it in this process.
    @usableFromInline let handle: MDB_dbi
    /// What all processes call it, and records of the journal: the index of its name in the options, or
    /// ``memberNumberBase`` and its number in the family; ``unnumbered`` for LMDB's own lists.
    @usableFromInline let number: UInt16

    /// The first handle that LMDB gives to a named database: 0 and 1 are its own.
    @usableFromInline static var firstHandle: MDB_dbi { 2 }
    @usableFromInline static var unnumbered: UInt16 { .max }

    @inlinable
    init(handle: MDB_dbi, number: UInt16 = Database.unnumbered) {
        self.handle = handle
        self.number = number
    }

    /// One that is opened with the environment, by its place in ``EnvironmentOptions/databases``.
    init(index: Int) {
        self.init(handle: Self.firstHandle + MDB_dbi(index), number: UInt16(index))
    }
}
