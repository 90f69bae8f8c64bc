/// Where a hub keeps everything: ordered keys and values, with transactions.
///
/// The tables are made of it once, in `HubKey` and the rows, so that another engine has a few
/// functions to provide and nothing to know of records.
///
/// A storage chooses its own threads, and keeps none of Swift's waiting. The closure of a transaction
/// runs on one thread from its beginning to its end.
package protocol HubStorage: Sendable {
    /// Has a thread of the storage run a closure on a snapshot; it must copy out what it wants to keep.
    ///
    /// It may run more than once. Whose turn it is depends on what the reads of each client cost.
    ///
    /// - Parameters:
    ///   - lane: How long it may take.
    ///   - work: Counts what is read, and ends it between two keys.
    /// - Throws: ``WorkCancelled``, or what the closure throws.
    func read<R: Sendable>(
        _ lane: WorkPool.Lane, _ work: RequestWork,
        _ body: @escaping @Sendable (any HubReading) throws -> R
    ) async throws -> R

    /// As ``read(_:_:_:)``, for a caller that is no task.
    ///
    /// - Parameter answer: Gets the result when the snapshot was given back, on the thread that read, and may
    ///   still count what it makes of it. What it returns is called on the same thread when the client was
    ///   charged, and hands the answer over. The thread may be nicer than others, so what starts threads goes
    ///   through ``WorkPool/handOver(_:)``.
    func submitRead<R: Sendable>(
        _ lane: WorkPool.Lane, _ work: RequestWork,
        _ body: @escaping @Sendable (any HubReading) throws -> R,
        answer: @escaping @Sendable (Result<R, any Error>) -> WorkPool.Answer)

    /// Runs a closure on a snapshot on the calling thread, if what it reads is in memory or in files
    /// that this machine has in memory.
    ///
    /// - Parameter body: Reads a few keys, and changes nothing outside: it may run in vain.
    /// - Returns: nil if the storage would have to wait for what is read.
    func readAtHand<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R?

    /// Whether no read waits for its turn, so that a small one outside of all turns takes nobody's.
    var isCalm: Bool { get }

    /// Runs a closure that writes, and returns when what it wrote is on disk.
    ///
    /// It writes to the partitions that are named and to no other; it may read all. A storage that
    /// locks partitions takes them in ascending order.
    ///
    /// Closures that write to the same partition run one after another, and others may run beside them;
    /// several may share a commit. What a closure reads of a partition that it did not name others may change
    /// meanwhile. One that throws leaves no trace.
    /// It may run more than once, so it must not count or collect outside of itself. Whose turn it is
    /// depends on what the writes of each client cost.
    ///
    /// - Parameter queries: What it reads as far as that is known before, so that what writes of one
    ///   commit read can be fetched together; see ``HubReading/expect(_:)``.
    /// - Throws: ``WorkCancelled`` if the work had to end before it ran, or what the closure throws.
    func write<R: Sendable>(
        _ work: RequestWork, to partitions: Partitions,
        expecting queries: @escaping @Sendable () -> [KeyQuery],
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R

    /// Has a closure called when others have changed something, soon after: processes, or hubs elsewhere,
    /// that work with the same data. What is written through this storage is not told.
    ///
    /// It may be called for nothing, and once for several changes.
    ///
    /// - Parameters:
    ///   - watching: The partitions of which it matters. Of others it may be silent.
    ///   - wake: Takes the place of the closure before it. Neither may wait.
    func wakeUp(
        watching: @escaping @Sendable () -> [Partition],
        _ wake: @escaping @Sendable (ChangedPartitions) -> Void)

    /// Whether it would be told soon what others change.
    var tellsOfOthers: Bool { get }

    /// Whether this storage cleans up databases that get no writes, on behalf of all storages of the same
    /// data. At most one storage does at a time; when it closes, another one takes over some seconds later.
    var cleansUp: Bool { get }

    /// Whether the storage refuses all reads and writes until it is opened anew: a write failed, and it is
    /// unknown whether the disk has it.
    var hasFailed: Bool { get }

    /// How many keys and ranges were read without being announced. Each took a round trip.
    var missCount: Int { get }

    /// How many round trips reads and writes waited for.
    var roundTripCount: Int { get }

    /// Has reads and writes fail that waited too long for their turn. It is called now and then.
    func refuseLate()

    /// Has all fail that wait, and those that come: the hub ends.
    func refuseWork()

    /// Ends the storage, after the writes that were begun.
    func close()
}

extension HubStorage {
    package var hasFailed: Bool { false }

    package var missCount: Int { 0 }

    package var roundTripCount: Int { 0 }

    package var isCalm: Bool { false }

    package var tellsOfOthers: Bool { true }

    package var cleansUp: Bool { true }

    package func refuseLate() {}

    /// As ``read(_:_:_:)``, for the hub itself.
    package func read<R: Sendable>(
        _ body: @escaping @Sendable (any HubReading) throws -> R
    ) async throws -> R {
        try await read(.page, RequestWork(), body)
    }

    /// Reads what is at hand at once, and else waits for it.
    ///
    /// - Parameter body: As in ``readAtHand(_:_:)``.
    func readSoon<R: Sendable>(
        _ work: RequestWork = RequestWork(),
        _ body: @escaping @Sendable (any HubReading) throws -> R
    ) async throws -> R {
        if let result = try readAtHand(work, body) { return result }
        return try await read(.page, work, body)
    }

    /// As ``readAtHand(_:_:)``, for commands that work with a storage of this machine.
    ///
    /// - Throws: `invalid` if the storage is not one of this machine.
    package func readNow<R>(_ body: (any HubReading) throws -> R) throws -> R {
        guard let result = try readAtHand(RequestWork(), body) else {
            throw HubError(.invalid, "This works with a hub's folder only.")
        }
        return result
    }

    /// As ``write(_:to:expecting:_:)``, for the hub itself.
    package func write<R: Sendable>(
        to partitions: Partitions,
        expecting queries: @escaping @Sendable () -> [KeyQuery] = { [] },
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        try await write(RequestWork(), to: partitions, expecting: queries, body)
    }
}

/// A transaction that reads.
package protocol HubReading {
    /// Counts what is done with what is read.
    var work: RequestWork { get }

    /// Whether reading takes a round trip, so that it matters what is told before.
    var isFar: Bool { get }

    /// A number that two transactions have in common only if both see exactly the same; nil if that can't be
    /// told.
    var moment: UInt64? { get }

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
    package var isFar: Bool { false }

    package var moment: UInt64? { nil }

    /// Nothing has to be told where everything is in memory, or a page away.
    package func expect(_ queries: () throws -> [KeyQuery]) rethrows {}

    /// The value of a key.
    func value(_ key: HubKey) throws -> [UInt8]? { try unsafe withValue(key) { unsafe Array($0) } }
}

/// A transaction that writes, and sees what it wrote.
package protocol HubWriting: HubReading {
    /// The number of the run that the transaction belongs to: random, and never 0.
    ///
    /// A run is a span of commits of one program, during which the data can't have been put back to an older
    /// state. So data that has one commit of a run has all earlier commits of that run too. A new run begins
    /// when a program opens the storage, and after anything by which older data could have come in its place,
    /// such as a restart of the database's server.
    var run: UInt64 { get throws }

    /// Sets the value of a key.
    func put(_ key: HubKey, _ value: [UInt8]) throws

    /// Removes a key; nothing happens if it is not there.
    func delete(_ key: HubKey) throws
}
