/// A named table of an environment: one of ``EnvironmentOptions/databases``, or a member of the family.
///
/// The value stays valid as long as the environment is open. Keys are unique, have 1 to 511 bytes
/// and sort as unsigned bytes.
@usableFromInline
package struct Database: Sendable, Hashable {
    @usableFromInline let handle: UInt32
    /// What records of changes call it: the index of its name in the options, or
    /// ``memberNumberBase`` and its number in the family. Negative for LMDB's own lists.
    @usableFromInline let number: Int32

    /// The first handle that LMDB gives to a named database: 0 and 1 are its own.
    @usableFromInline static var firstHandle: UInt32 { 2 }

    @inlinable
    init(handle: UInt32, number: Int) {
        self.handle = handle
        self.number = Int32(truncatingIfNeeded: number)
    }

    /// One of the databases that the options name, and of LMDB's own lists.
    init(index: Int) {
        self.init(handle: UInt32(Int(Self.firstHandle) + index), number: index)
    }

    /// What records of changes call it.
    var index: Int { Int(number) }
}
