/// Where a hub keeps everything: ordered keys and values, with transactions.
///
/// The tables are made of it once, in `HubKey` and the rows, so that another engine has four
/// functions to provide and nothing to know of records.
package protocol HubStorage: Sendable {
    /// Runs a closure on a snapshot; it must copy out what it wants to keep.
    ///
    /// - Parameter work: Counts what is read, and ends it between two keys.
    /// - Throws: ``WorkGivenUp``, or what the closure throws.
    func read<R>(_ work: RequestWork, _ body: (any HubReading) throws -> R) throws -> R

    /// Runs a closure that writes, and returns when what it wrote is on disk.
    ///
    /// It writes to the partitions that are named and to no other; it may read all. A storage that
    /// locks partitions takes them in ascending order.
    ///
    /// Closures run one after another; several may share a commit. One that throws leaves no trace.
    /// It may run more than once, so it must not count or collect outside of itself. Whose turn it is
    /// depends on what the writes of each client cost.
    ///
    /// - Throws: ``WorkGivenUp`` if the work had to end before it ran, or what the closure throws.
    func write<R: Sendable>(
        _ work: RequestWork, to partitions: Partitions,
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R

    /// Has all writes fail that wait, and those that come: the hub ends.
    func refuseWrites()

    /// Ends the storage, after the writes that were begun.
    func close()
}

extension HubStorage {
    /// As ``read(_:_:)``, for what costs a few keys at most.
    package func read<R>(_ body: (any HubReading) throws -> R) throws -> R {
        try read(RequestWork(), body)
    }

    /// As ``write(_:to:_:)``, for the hub itself.
    package func write<R: Sendable>(
        to partitions: Partitions, _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        try await write(RequestWork(), to: partitions, body)
    }
}

/// A transaction that reads.
package protocol HubReading {
    /// Counts what is done with what is read.
    var work: RequestWork { get }

    /// Tells what is read next, so that it can be fetched in one round trip. What was not told can be
    /// read as well, and only takes longer.
    ///
    /// - Parameter queries: Called if the storage makes use of it.
    func expect(_ queries: () throws -> [KeyQuery]) rethrows

    /// Runs a closure on the value of a key; nil if there is none. The bytes are valid inside of
    /// the closure only.
    func withValue<R>(
        _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R?

    /// The entries whose keys start with a prefix, in the order of the keys, until the closure
    /// returns false. The bytes are valid inside of the closure only.
    ///
    /// - Parameter start: Where to begin, inside of the prefix; an entry of exactly this key is
    ///   among them.
    func scan(
        _ prefix: HubKey, from start: HubKey?,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
    ) throws

    /// As ``scan(_:from:_:)``, from the last entry to the first, those at or after `end` left out.
    func scanBackwards(
        _ prefix: HubKey, before end: HubKey?,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
    ) throws
}

extension HubReading {
    /// Nothing has to be told where everything is in memory, or a page away.
    package func expect(_ queries: () throws -> [KeyQuery]) rethrows {}

    /// The value of a key.
    func value(_ key: HubKey) throws -> [UInt8]? { try withValue(key) { Array($0) } }
}

/// A transaction that writes, and sees what it wrote.
package protocol HubWriting: HubReading {
    /// Sets the value of a key.
    func put(_ key: HubKey, _ value: [UInt8]) throws

    /// Removes a key; nothing happens if it is not there.
    func delete(_ key: HubKey) throws
}
