/// Measurements of an open environment, taken at one moment.
package struct EnvironmentInfo: Sendable, Hashable {
    /// The size of the map, in bytes.
    package let mapBytes: Int
    /// The number of the last page that is in use or was.
    package let lastPage: Int
    /// The size of a page, in bytes.
    package let pageBytes: Int
    /// The id of the last committed transaction.
    package let lastTransaction: UInt64
    /// The taken reader slots of all processes, idle ones of a pool included.
    package let readersInUse: Int
    /// The number of reader slots.
    package let readersMax: Int
    /// The id of the oldest snapshot that a reader of any process holds, that of this measurement
    /// included; `nil` if the lock file can't be written.
    ///
    /// Pages freed after it can't be used again: a large distance to ``lastTransaction`` means
    /// that the file grows.
    package let oldestReader: UInt64?
    /// The pages in the free list.
    package let freePages: Int
    /// The bytes of all pages that aren't free.
    package var usedBytes: Int { (lastPage + 1 - freePages) * pageBytes }
}
