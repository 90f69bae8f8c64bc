public import Foundation
import LMDB
import Threading

extension Store {
    /// Reads from a snapshot of the last commit on a thread apart, and ends with the task.
    ///
    /// Use it for reads that take long: scans, aggregates over many records, past states. ``read(_:)``
    /// blocks the calling thread, one of few that all tasks of the program share, and is not
    /// cancelled; for reads of microseconds it is the better one, because two changes of threads cost
    /// more than they do.
    ///
    /// If the task is cancelled, the read throws `CancellationError`: before it begins, or while it
    /// looks at rows, indexes, views or the log, after 256 entries at most. A sort in memory is not
    /// interrupted. The closure runs in the task, so it can ask `Task.isCancelled` itself. Up to
    /// ``asyncReadsMax`` such reads of a program run at a time; others wait for their turn.
    ///
    /// - Throws: `CancellationError`; `closed`; what the closure throws.
    public func asyncRead<Result: Sendable>(
        _ body: @Sendable (borrowing ReadTransaction) throws -> Result
    ) async throws -> Result {
        try await ReadExecutor.run { try read(interruption: $0, body) }
    }

    /// Reads the store as it was after an operation, on a thread apart, and ends with the task.
    ///
    /// - Throws: as ``read(at:_:)-(UInt64,_)``, and `CancellationError`.
    public func asyncRead<Result: Sendable>(
        at sequence: UInt64, _ body: @Sendable (borrowing ReadTransaction) throws -> Result
    ) async throws -> Result {
        try await ReadExecutor.run {
            try PastMoment.operation(sequence).read(self, interruption: $0, body)
        }
    }

    /// Reads the store as it was at a moment, on a thread apart, and ends with the task.
    ///
    /// - Throws: as ``read(at:_:)-(Date,_)``, and `CancellationError`.
    public func asyncRead<Result: Sendable>(
        at date: Date, _ body: @Sendable (borrowing ReadTransaction) throws -> Result
    ) async throws -> Result {
        try await ReadExecutor.run { try PastMoment.date(date).read(self, interruption: $0, body) }
    }

    /// The most asynchronous reads of a program that run at a time.
    public static var asyncReadsMax: Int { ReadExecutor.threadsMax }
}

/// Runs asynchronous reads on a few threads, which may wait for a disk.
enum ReadExecutor {
    static let threadsMax = 4

    private static let shared = PoolExecutor(threadsMax: threadsMax)

    /// Runs a closure on one of the threads, in the caller's task.
    static func run<Result: Sendable>(
        _ body: @Sendable (ReadInterruption) throws -> Result
    ) async throws -> Result {
        try await withTaskExecutorPreference(shared) { try await perform(body) }
    }

    @concurrent
    private static func perform<Result: Sendable>(
        _ body: @Sendable (ReadInterruption) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let result = try unsafe body(ReadInterruption())
        // What was interrupted may have been left out of the result.
        try Task.checkCancellation()
        return result
    }
}
