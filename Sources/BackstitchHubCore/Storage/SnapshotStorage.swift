/// A storage whose snapshots are read by the threads of a pool.
package protocol SnapshotStorage: HubStorage {
    /// The threads that read.
    var readers: WorkPool { get }

    /// Runs a closure on a snapshot, on the calling thread.
    func snapshot<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R
}

extension SnapshotStorage {
    package var isCalm: Bool { readers.isCalm }

    package func refuseLate() { readers.refuseLate() }

    package func read<R: Sendable>(
        _ lane: WorkPool.Lane, _ work: RequestWork,
        _ body: @escaping @Sendable (any HubReading) throws -> R
    ) async throws -> R {
        try await readers.run(lane, work) { [self] in try snapshot(work, body) }
    }

    package func submitRead<R: Sendable>(
        _ lane: WorkPool.Lane, _ work: RequestWork,
        _ body: @escaping @Sendable (any HubReading) throws -> R,
        answer: @escaping @Sendable (Result<R, any Error>) -> WorkPool.Answer
    ) {
        readers.submit(lane, work) { [self] in
            // What answers a read counts what it makes, and compresses it.
            answer(Result { try snapshot(work, body) })
        } refuse: {
            answer(.failure(WorkCancelled()))()
        }
    }
}
