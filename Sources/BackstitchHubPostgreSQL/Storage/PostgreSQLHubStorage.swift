package import BackstitchHubCore
import Threading

/// A hub's storage in a PostgreSQL database, which several hubs may share.
///
/// A read takes one round trip, and a write two, if they tell before what they read. Threads wait for the
/// server, each with a connection of its own; none of them is Swift's.
package final class PostgreSQLHubStorage: SnapshotStorage {
    /// The most writes that share a commit.
    static let writesPerCommitMax = 64
    /// The most commits that are under way at once, each on a connection. Fewer share more of their cost.
    static let commitsMax = 16
    /// How often a transaction is tried that others were in the way of.
    static let triesMax = 6
    /// How often the outcome of a commit is looked for. Each look waits up to five seconds for a transaction
    /// that was left alone, which the server ends after thirty.
    static let lookupsMax = 60
    /// How long it takes from a look that failed to the next one.
    private static let lookupMilliseconds = 250

    private static let beginRead = Statement(
        "beginRead", sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    private let pool: ConnectionPool
    package let readers: WorkPool
    private let clock: HubClock
    /// The current run, and the place of the data when the run began.
    private let currentRun = Locked<(place: PartitionCommit.DataPlace?, number: UInt64)?>(nil)
    private let lanes = Locked<WriteLanes?>(nil)
    private let waker: Waker
    private let counts = Locked((misses: 0, roundTrips: 0))

    /// Opens the storage.
    ///
    /// - Throws: A failure that says what to do if the database has no tables of a hub, or others.
    package init(_ address: PostgreSQLAddress, clock: HubClock, limits: HubLimits) throws {
        pool = ConnectionPool(address, steadyMilliseconds: clock.steadyMilliseconds)
        readers = WorkPool(limits, clock: clock.steadyMilliseconds)
        self.clock = clock
        let connection = try pool.connect()
        let identity = try HubSchema.check(connection, address)
        pool.giveBack(connection)
        waker = Waker(
            address, identity, sender: Self.number(clock.secret(8)),
            steadyMilliseconds: clock.steadyMilliseconds)
        lanes.withLock { lanes in
            lanes = WriteLanes(threads: Self.commitsMax) { [weak self] lane, first in
                guard let self else { return first.finish(WorkCancelled()) }
                commit(lane, first)
            }
        }
    }

    /// Makes the tables of a hub in a database, unless they are there.
    ///
    /// - Returns: Whether something was to be done.
    package static func migrate(_ address: PostgreSQLAddress, clock: HubClock) throws -> Bool {
        let connection = try Connection(address, .plain)
        return try HubSchema.migrate(connection, identity: number(clock.secret(8)))
    }

    /// Throws if a hub can't be served because of what the database holds, or its server is. Nothing is
    /// changed.
    static func check(_ address: PostgreSQLAddress, clock: HubClock, hasBucket: Bool) throws {
        let storage = try PostgreSQLHubStorage(address, clock: clock, limits: HubLimits())
        defer { storage.close() }
        try storage.checkBucket(isGiven: hasBucket)
    }

    private static func number(_ bytes: [UInt8]) -> Int64 {
        Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    package var missCount: Int { counts.withLock { $0.misses } }

    package var roundTripCount: Int { counts.withLock { $0.roundTrips } }

    /// How many writes wait for a commit.
    var waitingCount: Int { lanes.withLock { $0 }?.waitingCount ?? 0 }

    package var tellsOfOthers: Bool { waker.isListening }

    package var cleansUp: Bool { waker.cleansUp }

    private func note(_ transaction: BufferedTransaction, roundTrips: Int) {
        counts.withLock { counts in
            counts.misses += transaction.misses.count
            counts.roundTrips += roundTrips
        }
    }

    package func refuseLate() {
        readers.refuseLate()
        for write in lanes.withLock({ $0 })?.takeLate() ?? [] { write.finish(WorkCancelled()) }
    }

    package func refuseWork() {
        readers.stop()
        for write in lanes.withLock({ $0 })?.stop() ?? [] { write.finish(WorkCancelled()) }
    }

    package func close() {
        refuseWork()
        lanes.withLock { $0 }?.waitForEnd()
        waker.stop()
        pool.close()
    }

    package func wakeUp(
        watching: @escaping @Sendable () -> [Partition],
        _ wake: @escaping @Sendable (ChangedPartitions) -> Void
    ) {
        waker.listen(watching: watching, wake)
    }

    // MARK: Reading

    package func readAtHand<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R? { nil }

    package func snapshot<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R {
        var tries = 1
        while true {
            do {
                return try snapshotOnce(work, body)
            } catch let error as PostgreSQLError where error.mayPass && tries < 3 {
                // A connection that waited may have been cut long ago.
                tries += 1
                pool.forgetIdle()
                try work.check()
            }
        }
    }

    /// Reads in a transaction of its own, and does not wait for its end. A connection that failed is not
    /// given back.
    private func snapshotOnce<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R {
        let connection = try pool.take()
        let before = connection.roundTrips
        var failure: (any Error)?
        var hasBegun = false
        let transaction = BufferedTransaction(work) { queries in
            do {
                let opening = hasBegun ? [] : [BoundStatement(Self.beginRead)]
                let (_, fetched) = try EntryQuery.find(queries, after: opening, connection)
                hasBegun = true
                return fetched
            } catch {
                failure = failure ?? error
                throw error
            }
        }
        let result = Result { try body(transaction) }
        note(transaction, roundTrips: connection.roundTrips - before)
        if let failure { throw failure }
        if hasBegun { try connection.sendOnly([BoundStatement(PartitionCommit.commit)]) }
        pool.giveBack(connection)
        return try result.get()
    }

    // MARK: Writing

    package func write<R: Sendable>(
        _ work: RequestWork, to partitions: Partitions,
        expecting queries: @escaping @Sendable () -> [KeyQuery],
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        let lanes = lanes.withLock { $0 }
        return try await withCheckedThrowingContinuation { continuation in
            let write = WaitingWrite(
                work, to: partitions, expecting: queries, body, continuation)
            if lanes?.add(write) != true { write.finish(WorkCancelled()) }
        }
    }

    /// Commits a write, and those of its lane that wait.
    private func commit(_ lane: WriteLanes.Lane, _ first: any QueuedWrite) {
        var tries = 1
        lane.commit(first, jobsMax: Self.writesPerCommitMax) { writes in
            try attempt(&writes)
        } verdict: { error, count in
            guard let error = error as? PostgreSQLError else {
                return count > 1 ? .separate : .fail
            }
            // Others may have locked the partition of one of them.
            if error.isAboutLocks, count > 1 { return .separate }
            if error.mayPass, tries < Self.triesMax {
                pool.forgetIdle()
                Self.pause(milliseconds: 5 << tries)
                tries += 1
                return .again
            }
            // One of them may be what the server refuses.
            return count > 1 && error.kind == .refused && !error.mayPass && !error.isAboutSpace
                ? .separate : .fail
        } finish: { ended in
            lane.withQueue { queue in
                for (write, _) in ended {
                    queue.waiting.charge(write.work.meter.cost, to: write.work.client)
                }
            }
            for (write, error) in ended { write.finish(error) }
        }
    }

    private static func pause(milliseconds: Int) {
        let monitor = Monitor()
        monitor.inside { _ = monitor.wait(milliseconds: milliseconds) }
    }

    /// The run of a commit: another one begins where the server, or its tables, may be others than before.
    private func run(at place: PartitionCommit.DataPlace?) -> UInt64 {
        currentRun.withLock { run in
            if let run, run.place == place { return run.number }
            let number = clock.newRun()
            run = (place, number)
            return number
        }
    }

    private func attempt(_ writes: inout CommitAttempt<WriteLanes.LaneQueue>) throws {
        var jobs: [(place: Int, job: any QueuedWrite)] = []
        while let next = writes.next() { jobs.append(next) }
        let partitions = Partitions(jobs.flatMap(\.job.partitions.ascending))
        let connection = try pool.take()
        let before = connection.roundTrips
        let mark = Self.number(clock.secret(8))
        let commit = PartitionCommit(connection, partitions, mark: mark)
        let transaction = BufferedTransaction(
            RequestWork(), writingTo: partitions, fetch: commit.find
        ) { [self] in
            try commit.lock()
            return run(at: commit.place)
        }
        defer { note(transaction, roundTrips: connection.roundTrips - before) }
        transaction.expect { jobs.flatMap { $0.job.expected } }
        if let failure = commit.failure { throw failure }
        for (place, job) in jobs {
            do {
                try job.run(transaction)
            } catch {
                // What it wrote is gone, so that the others may go on.
                writes.refuse(place, error)
            }
            if let failure = commit.failure { throw failure }
        }
        // Also if there is nothing to read or to write, so that whoever probes hears of the server.
        try commit.lock()
        if transaction.writes.isEmpty {
            try commit.end()
            return pool.giveBack(connection)
        }
        try waker.telling(Array(zip(partitions.ascending, commit.numbers))) {
            do {
                try commit.end(transaction)
                pool.giveBack(connection)
            } catch let error as PostgreSQLError where error.kind == .away {
                try lookUp(mark, commit.numbers.first, partitions, after: error)
            }
        }
    }

    /// Finds out whether a commit was made whose answer was lost.
    ///
    /// - Throws: The error of the commit if it was not made, so that it is tried again; or `unknownOutcome`.
    private func lookUp(
        _ mark: Int64, _ number: Int64?, _ partitions: Partitions, after error: PostgreSQLError
    ) throws {
        guard let partition = partitions.ascending.first else { throw error }
        pool.forgetIdle()
        var outcome: CommitLookup.Outcome?
        for look in 0..<Self.lookupsMax where outcome == nil {
            if look > 0 { Self.pause(milliseconds: Self.lookupMilliseconds) }
            guard let connection = try? pool.take() else { continue }
            outcome = try? CommitLookup.look(for: mark, number, in: partition, connection)
            if outcome != nil { pool.giveBack(connection) }
        }
        switch outcome {
        case .made: return
        case .notMade: throw error
        case .unknown, nil:
            throw PostgreSQLError(
                .unknownOutcome,
                "It is not known whether a commit was made: "
                    + (outcome == nil ? "the server is away." : "too many came after it."))
        }
    }
}
