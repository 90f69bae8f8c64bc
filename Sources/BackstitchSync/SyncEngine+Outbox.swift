import BackstitchCore
import BackstitchStore
import Threading

extension SyncEngine {
    /// The records that are to be pushed, zone by zone in the order of their first unsynced operations;
    /// each tells whether its push is under way. ``parked()`` has the other unsynced records.
    ///
    /// Reads the log from the oldest unsynced operation on, up to the limit.
    /// - Parameter limit: The most records to list.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func pendingRecords(limit: Int = 1_000) throws -> [PendingRecord] {
        let names = scope.inFlight.withLock { $0 }
        return try store.read { try OutboxFolder($0.reader).pendingRecords(limit: limit) }.map {
            record in
            var record = record
            record.isInFlight = names.contains(record.record.name)
            return record
        }
    }

    // MARK: Waiting

    /// Waits until the service has an operation or refused it, a conflict was decided against it, or it
    /// turns out that it stays on this device.
    ///
    /// Starts nothing: a started engine, or another call of ``sync()``, pushes. Cancel the task to give up.
    /// - Parameter operation: The sequence of an operation, such as `lastSequence` after a write.
    /// - Returns: the record with the reason if it was refused; nil if nothing waits any more.
    /// - Throws: `StoreError.Code.notInLog` for a sequence that the store has not reached;
    ///   `SyncError.Code.stopped`; `CancellationError`.
    public func waitUntilSynced(operation sequence: UInt64) async throws -> ParkedRecord? {
        try checkGoesOn()
        let progress = try store.read { try OperationProgress(of: sequence, $0.reader) }
        if progress != .pending { return progress.parked }
        guard case .progress(let ended) = try await ask({ .waitForOperation(sequence, $0) }) else {
            preconditionFailure("An operation ends, or there is an error.")
        }
        return ended.parked
    }

    /// Waits, as ``waitUntilSynced(operation:)`` does, for all that is to be pushed now. It does not wait for
    /// records that are parked or held back, or for what is saved meanwhile.
    ///
    /// - Returns: the records that were refused meanwhile, with the reasons.
    /// - Throws: `StoreError` if the store can't be read; `SyncError.Code.stopped`; `CancellationError`.
    @discardableResult
    public func waitUntilSynced() async throws -> [ParkedRecord] {
        try checkGoesOn()
        var refused: [ParkedRecord] = []
        for operation in try scope.lastOperations() {
            if let record = try await waitUntilSynced(operation: operation) {
                refused.append(record)
            }
        }
        return refused
    }

    /// Runs a round, and waits until one that began after this call has ended well. Then everything
    /// that the service had at the time of the call is in the store.
    ///
    /// A started engine keeps trying after a failure, and this call waits with it; cancel the task
    /// to give up.
    /// - Throws: ``SyncError`` if the round fails and the engine was not started; `stopped`;
    ///   `CancellationError`.
    public func waitUntilCaughtUp() async throws {
        _ = try await ask { .catchUp($0) }
    }
}
