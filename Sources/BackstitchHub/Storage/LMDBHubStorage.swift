import LMDB

/// A hub's storage in one LMDB file.
package final class LMDBHubStorage: HubStorage {
    /// The most writes that share a commit.
    static let writesPerCommitMax = 256

    private let environment: Environment
    private let database: Database
    private let queue = Locked(Queue())

    private struct Queue {
        var waiting: [any QueuedWrite] = []
        /// Whether the writer thread will look at the queue.
        var isScheduled = false
    }

    /// Opens the storage in a folder, and makes it where there is none.
    package convenience init(at directory: String) throws {
        var options = Self.options
        options.usesRedoFile = true
        try self.init(Environment.open(at: directory, options: options))
    }

    /// A storage that leaves nothing behind.
    package static func temporary() throws -> LMDBHubStorage {
        try LMDBHubStorage(Environment.temporary(options: options))
    }

    private static let options = EnvironmentOptions(databases: ["hub"])

    private init(_ environment: Environment) throws {
        self.environment = environment
        database = try environment.database("hub")
    }

    package func close() { environment.close() }

    package func read<R>(_ body: (any HubReading) throws -> R) throws -> R {
        try environment.read { try body(LMDBHubTransaction(access: $0.access, database: database)) }
    }

    package func write<R: Sendable>(
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(WaitingWrite(body: body, continuation: continuation))
        }
    }

    private func enqueue(_ write: any QueuedWrite) {
        let mustSchedule = queue.withLock { queue in
            queue.waiting.append(write)
            defer { queue.isScheduled = true }
            return !queue.isScheduled
        }
        if mustSchedule { environment.writer.submit { self.drain() } }
    }

    /// Commits what waits, on the writer thread, until nothing does.
    private func drain() {
        while true {
            let batch = queue.withLock { queue in
                let batch = Array(queue.waiting.prefix(Self.writesPerCommitMax))
                queue.waiting.removeFirst(batch.count)
                if batch.isEmpty { queue.isScheduled = false }
                return batch
            }
            if batch.isEmpty { return }
            commit(batch)
        }
    }

    /// Commits a batch; where one fails after it wrote, the others again without it.
    private func commit(_ batch: [any QueuedWrite]) {
        var batch = batch
        while !batch.isEmpty {
            do {
                try environment.write { transaction in
                    let view = LMDBHubTransaction(access: transaction.access, database: database)
                    for (index, write) in batch.enumerated() {
                        let changes = transaction.access.changeCount
                        if !write.run(view), transaction.access.changeCount != changes {
                            throw Culprit(index: index)
                        }
                    }
                }
                return batch.forEach { $0.finish() }
            } catch let culprit as Culprit {
                batch.remove(at: culprit.index).finish()
            } catch {
                return batch.forEach { $0.fail(error) }
            }
        }
    }

    private struct Culprit: Error {
        let index: Int
    }
}

/// A write that waits for its commit.
private protocol QueuedWrite: AnyObject, Sendable {
    /// Runs it; false where it threw.
    func run(_ transaction: LMDBHubTransaction) -> Bool
    /// Answers its caller with what the last run gave.
    func finish()
    /// Answers its caller with a failure of the commit.
    func fail(_ error: any Error)
}

/// Invariant: once it waits, it is run and answered on the writer thread alone, so that nothing else
/// touches the result.
private final class WaitingWrite<R: Sendable>: QueuedWrite, @unchecked Sendable {
    private let body: @Sendable (any HubWriting) throws -> R
    private let continuation: CheckedContinuation<R, any Error>
    private var result: Result<R, any Error>?

    init(
        body: @escaping @Sendable (any HubWriting) throws -> R,
        continuation: CheckedContinuation<R, any Error>
    ) {
        self.body = body
        self.continuation = continuation
    }

    func run(_ transaction: LMDBHubTransaction) -> Bool {
        let result = Result { try body(transaction) }
        self.result = result
        if case .success = result { return true }
        return false
    }

    func finish() {
        guard let result else { preconditionFailure("A write ended before it ran.") }
        continuation.resume(with: result)
    }

    func fail(_ error: any Error) { continuation.resume(throwing: error) }
}

/// A transaction of LMDB, as the hub sees it.
private struct LMDBHubTransaction: HubWriting {
    let access: Access
    let database: Database

    func withValue<R>(
        _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R? {
        try key.bytes.withUnsafeBytes { try access.get($0, in: database).map(body) }
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
                guard try body(cursor.key, cursor.value) else { return }
                found = try cursor.previous()
            }
        }
    }

    func put(_ key: HubKey, _ value: [UInt8]) throws {
        try key.bytes.withUnsafeBytes { key in
            try value.withUnsafeBytes { try access.put(key, $0, in: database) }
        }
    }

    func delete(_ key: HubKey) throws {
        _ = try key.bytes.withUnsafeBytes { try access.delete($0, in: database) }
    }
}
