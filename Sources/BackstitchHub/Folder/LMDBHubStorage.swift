package import BackstitchHubCore
import LMDB
import Threading

/// A hub's storage in one LMDB file.
package final class LMDBHubStorage: SnapshotStorage {
    /// The most writes that share a commit.
    static let writesPerCommitMax = 256

    /// The most that the writes of a commit cost, after which no more are added: a commit is for all
    /// of them, and none is told before.
    static let costPerCommitMax = 20_000

    private let environment: Environment
    private let database: Database
    private let writes = GroupCommit(WriteQueue())
    package let readers: WorkPool
    private let others = Locked<OthersWatch?>(nil)
    /// The number of this run. It is constant: the folder is closed before it is put back to an older state.
    private let run: UInt64

    private struct WriteQueue: JobQueue {
        var waiting = FairQueue<any QueuedWrite>()
        var isRefusing = false

        mutating func next() -> (any QueuedWrite)? { waiting.next()?.job }
    }

    /// Opens the storage in a folder, which is made if it does not exist.
    ///
    /// - Parameters:
    ///   - readers: The threads that read; nil for some of its own.
    ///   - clock: The chance that it uses.
    /// - Throws: A failure that says what to do if the folder is of another format, or not of a hub; nothing is
    ///   changed then.
    package convenience init(
        at directory: String, readers: WorkPool? = nil, clock: HubClock = .system
    ) throws {
        try Self.refuseOthers(in: directory)
        var options = Self.options
        options.journal = .standard
        try self.init(Environment.open(at: directory, options: options), readers, clock)
        try prepareFormat(directory)
    }

    /// Whether a folder has a hub's storage, of any format. Nothing of the folder is changed.
    package static func isThere(in directory: String) -> Bool {
        EnvironmentFiles(at: directory).has(key: text(HubFormat.key), inDatabase: databaseName)
    }

    /// Throws if the data file of a folder is not a hub's alone. Nothing of the folder is changed.
    static func refuseOthers(in directory: String) throws {
        switch try EnvironmentFiles(at: directory).match([databaseName]) {
        case nil, .exact: return
        case .lacking:
            throw HubError(
                .invalid,
                "The folder '\(directory)' does not hold a hub: its data.mdb is a store's, or another "
                    + "program's. Nothing was changed. Give the folder of a hub, or of a new one.")
        case .more:
            throw HubError(
                .invalid,
                "The data.mdb in '\(directory)' holds a hub and other data, such as a store. Nothing was "
                    + "changed. A hub needs a folder of its own: give another one. 'backstitch doctor "
                    + "\(directory)' checks both.")
        }
    }

    /// Opens the storage of a folder. If the folder has no storage, this throws and creates nothing.
    static func existing(at directory: String) throws -> LMDBHubStorage {
        guard EnvironmentFiles(at: directory).hasData else {
            throw HubError(.notFound, "There is no hub in '\(directory)'. Check the folder.")
        }
        return try LMDBHubStorage(at: directory)
    }

    /// Opens the storage that is in the data file of something else, to be read.
    ///
    /// - Parameter options: How that is opened.
    static func existing(
        at directory: String, besides options: EnvironmentOptions
    ) throws -> LMDBHubStorage {
        var options = options
        options.isReadOnly = true
        options.databases.append(databaseName)
        return try LMDBHubStorage(Environment.open(at: directory, options: options))
    }

    /// Throws if a hub can't be served from a folder because of what it holds. Nothing of the folder is
    /// changed.
    static func check(_ directory: String, hasBucket: Bool) throws {
        try refuseOthers(in: directory)
        guard isThere(in: directory) else { return }
        let format = try stored(HubFormat.key, in: directory)
        try refuse(format.map { try HubFormat.version(ofStored: $0) }, of: directory)
        try HubObjects.check(
            storedState: stored(HubObjects.stateKey, in: directory), hasBucket: hasBucket)
    }

    /// The value of a key in a folder that is not opened.
    private static func stored(_ key: HubKey, in directory: String) throws -> [UInt8]? {
        var options = options
        options.journal = .standard
        return try EnvironmentFiles(at: directory).peek(
            options: options, database: databaseName, key: text(key))
    }

    /// A key of the hub's own rows as text: its bytes are below 128.
    private static func text(_ key: HubKey) -> String { String(decoding: key.bytes, as: UTF8.self) }

    /// Opens the storage of a copy, in a folder that no other process uses yet.
    static func copy(at directory: String) throws -> LMDBHubStorage {
        var options = options
        options.createsIfMissing = false
        return try LMDBHubStorage(Environment.open(at: directory, options: options))
    }

    /// Copies all as of one moment into a new folder, which appears when a closure has ended.
    func copy(to directory: String, finish: (String) throws -> Void) throws {
        try environment.copy(to: directory, finish: finish)
    }

    /// Writes outside of turns, and waits for the disk.
    func change(_ body: @escaping @Sendable (any HubWriting) throws -> Void) throws {
        try environment.writer.submitAndWait { [self] in
            try environment.write { transaction in
                try body(
                    LMDBHubTransaction(
                        access: transaction.access, database: database, work: RequestWork(),
                        run: run))
            }
        }
    }

    /// Checks that the storage is of this program's format; an empty one becomes it.
    private func prepareFormat(_ directory: String) throws {
        let format = try format
        try Self.refuse(format, of: directory)
        guard format == nil else { return }
        try change { try $0.put(HubFormat.key, HubFormat.value) }
    }

    /// Throws if this program can't open a folder of a format.
    private static func refuse(_ format: Int?, of directory: String) throws {
        guard let format, format != HubFormat.version else { return }
        throw HubError(
            .wrongFormat,
            format > HubFormat.version
                ? "The hub in '\(directory)' has format \(format), and this program works with format "
                    + "\(HubFormat.version). Use the program that wrote it, or a later one."
                : "The hub in '\(directory)' has a format that was never released. Use the program that "
                    + "wrote it, or let devices sync with a new hub.")
    }

    /// The version of the layout of what is stored; nil if nothing is.
    var format: Int? {
        get throws {
            try readNow { transaction in try HubFormat.version(of: transaction) }
        }
    }

    /// Checks all pages in use, which LMDB itself trusts.
    func checkPages() throws { try environment.checkPages() }

    /// A storage that leaves nothing behind.
    package static func temporary(
        readers: WorkPool? = nil, clock: HubClock = .system
    ) throws -> LMDBHubStorage {
        try LMDBHubStorage(Environment.temporary(options: options), readers, clock)
    }

    private static let databaseName = "hub"
    private static let options = EnvironmentOptions(databases: [databaseName])

    private init(
        _ environment: Environment, _ readers: WorkPool? = nil, _ clock: HubClock = .system
    ) throws {
        self.environment = environment
        self.readers = readers ?? WorkPool(HubLimits())
        run = clock.newRun()
        database = try environment.database(Self.databaseName)
    }

    package var hasFailed: Bool { environment.hasFailed }

    package func close() {
        others.withLock { $0 }?.stop()
        readers.stop()
        environment.close()
    }

    package func readAtHand<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R? {
        try snapshot(work, body)
    }

    package func snapshot<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R {
        try environment.read {
            try body(
                LMDBHubTransaction(
                    access: $0.access, database: database, work: work, run: run))
        }
    }

    package func write<R: Sendable>(
        _ work: RequestWork, to partitions: Partitions,
        expecting queries: @escaping @Sendable () -> [KeyQuery],
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(
                WaitingWrite(
                    work: work, partitions: partitions, body: body, continuation: continuation))
        }
    }

    package func refuseLate() {
        readers.refuseLate()
        let late = writes.withQueue { queue in queue.waiting.removeAll { $0.work.hasToEnd } }
        for write in late { write.finish(WorkCancelled()) }
    }

    package func refuseWork() {
        readers.stop()
        let refused = writes.withQueue { queue in
            queue.isRefusing = true
            return queue.waiting.removeAll()
        }
        for write in refused { write.finish(WorkCancelled()) }
    }

    private func enqueue(_ write: any QueuedWrite) {
        var isRefused = false
        writes.submit(to: environment.writer) { queue in
            isRefused = queue.isRefusing
            if !isRefused {
                queue.waiting.add(
                    write, of: write.work.client, isAnonymous: write.work.isAnonymous)
            }
            return !isRefused
        } commit: { [self] first in
            commit(first)
        }
        if isRefused { write.finish(WorkCancelled()) }
    }

    /// Commits a write, and those that come after it as far as they fit.
    private func commit(_ first: any QueuedWrite) {
        let others = others.withLock { $0 }
        writes.commit(first, jobsMax: Self.writesPerCommitMax) { writes in
            var committed: UInt64 = 0
            try environment.write { transaction in
                writes.begin()
                others?.look(at: transaction.access.commit)
                var cost = 0
                while let (place, write) = writes.next(takesMore: cost < Self.costPerCommitMax) {
                    do {
                        cost += try run(write, transaction.access, at: place)
                    } catch let error where !(error is JobFailed) {
                        writes.refuse(place, error)
                    }
                }
                let access = transaction.access
                committed = access.commit + (access.changeCount > 0 ? 1 : 0)
            }
            others?.note(committed)
        } finish: { ended in
            writes.withQueue { queue in
                for (write, _) in ended {
                    queue.waiting.charge(write.work.meter.cost, to: write.work.client)
                }
            }
            for (write, error) in ended { write.finish(error) }
        }
    }

    /// Runs a write in a transaction.
    ///
    /// - Returns: What it cost.
    /// - Throws: What it threw, as ``JobFailed`` if it had changed something.
    private func run(
        _ write: any QueuedWrite, _ access: Access, at place: Int
    ) throws -> Int {
        let (changes, cost) = (access.changeCount, write.work.meter.cost)
        do {
            try write.run(
                LMDBHubTransaction(
                    access: access, database: database, work: write.work, run: run,
                    partitions: write.partitions))
        } catch {
            throw access.changeCount == changes ? error : JobFailed(place, error)
        }
        return write.work.meter.cost - cost
    }

    package func wakeUp(
        watching: @escaping @Sendable () -> [Partition],
        _ wake: @escaping @Sendable (ChangedPartitions) -> Void
    ) {
        let watch = OthersWatch(environment, wake)
        others.withLock { others in
            others?.stop()
            others = watch
        }
        watch.start()
    }
}

/// A write that waits for its commit.
private protocol QueuedWrite: AnyObject, Sendable {
    /// The request that it is of.
    var work: RequestWork { get }
    /// Where it writes.
    var partitions: Partitions { get }
    /// Runs it.
    func run(_ transaction: LMDBHubTransaction) throws
    /// Answers its caller: with a failure, or with what the last run gave.
    func finish(_ error: (any Error)?)
}

/// Invariant: once it waits, it is run and answered on the writer thread alone, so that nothing else
/// touches the result.
private final class WaitingWrite<R: Sendable>: QueuedWrite, @unchecked Sendable {
    let work: RequestWork
    let partitions: Partitions
    private let body: @Sendable (any HubWriting) throws -> R
    private let continuation: CheckedContinuation<R, any Error>
    private var result: R?

    init(
        work: RequestWork, partitions: Partitions,
        body: @escaping @Sendable (any HubWriting) throws -> R,
        continuation: CheckedContinuation<R, any Error>
    ) {
        self.work = work
        self.partitions = partitions
        self.body = body
        self.continuation = continuation
    }

    func run(_ transaction: LMDBHubTransaction) throws {
        // The deadline was for the wait in the queue. From here on only the amount of work is limited.
        try work.check()
        work.unlimit()
        result = try body(transaction)
    }

    func finish(_ error: (any Error)?) {
        if let error { return continuation.resume(throwing: error) }
        guard let result else { preconditionFailure("A write ended before it ran.") }
        continuation.resume(returning: result)
    }
}

/// A transaction of LMDB, as the hub sees it.
private struct LMDBHubTransaction: HubWriting {
    let access: Access
    let database: Database
    let work: RequestWork
    let run: UInt64
    /// Where it may write, one writer at a time for all; nil for what is of no partition.
    var partitions: Partitions?

    /// A transaction that writes sees more than the commit that it began with.
    var moment: UInt64? { partitions == nil ? access.commit : nil }

    func withValue<R>(
        _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R? {
        let value = try key.bytes.withUnsafeBytes { try access.get($0, in: database) }
        try work.countKey(bytes: value?.count ?? 0)
        return try value.map(body)
    }

    func scan(
        _ prefix: HubKey, from start: HubKey?,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try access.withCursor(in: database) { cursor in
            var found = try (start ?? prefix).bytes.withUnsafeBytes {
                try cursor.seek(atOrAfter: $0)
            }
            while found, cursor.key.starts(with: prefix.bytes) {
                try work.countKey(bytes: cursor.value.count)
                guard try body(cursor.key, cursor.value) else { return }
                found = try cursor.next()
            }
        }
    }

    func scanBackwards(
        _ prefix: HubKey, before end: HubKey?,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try access.withCursor(in: database) { cursor in
            // Behind all keys of the prefix: no key has this many bytes of 0xFF.
            let filler = [UInt8](repeating: 0xFF, count: HubKey.byteCountMax - prefix.bytes.count)
            let end = end ?? prefix.adding(filler)
            _ = try end.bytes.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
            var found = try cursor.previous()
            while found, cursor.key.starts(with: prefix.bytes) {
                try work.countKey(bytes: cursor.value.count)
                guard try body(cursor.key, cursor.value) else { return }
                found = try cursor.previous()
            }
        }
    }

    func put(_ key: HubKey, _ value: [UInt8]) throws {
        partitions?.checkWrite(key)
        work.countWrite(bytes: value.count)
        try key.bytes.withUnsafeBytes { key in
            try value.withUnsafeBytes { try access.put(key, $0, in: database) }
        }
    }

    func delete(_ key: HubKey) throws {
        partitions?.checkWrite(key)
        work.countWrite()
        _ = try key.bytes.withUnsafeBytes { try access.delete($0, in: database) }
    }
}

extension LMDBError: StorageFailure {}
