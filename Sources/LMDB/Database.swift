/// A named table of an environment: the index of its name in ``EnvironmentOptions/databases``.
///
/// The value stays valid as long as the environment is open. Keys are unique, have 1 to 511 bytes
/// and sort as unsigned bytes.
@usableFromInline
package struct Database: Sendable, Hashable {
    @usableFromInline let handle: UInt32

    /// The first handle that LMDB gives to a named database: 0 and 1 are its own.
    static let firstHandle: UInt32 = 2

    init(handle: UInt32) {
        self.handle = handle
    }

    init(index: Int) {
        handle = Self.firstHandle + UInt32(index)
    }
}
