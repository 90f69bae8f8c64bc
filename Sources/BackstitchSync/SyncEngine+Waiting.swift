public import BackstitchCore
import BackstitchLog
import BackstitchStore

extension SyncConfiguration {
    /// Decides what happens to local records when their zone is gone from the service.
    public enum ZoneLossDecision: String, Hashable, Sendable, CaseIterable {
        /// The zone is made again, and all local records are uploaded to it.
        case reupload
        /// All local records are deleted, with their unsynced changes, and the zone begins empty. The
        /// unsynced values stay in ``SyncEngine/conflicts(limit:)``.
        case erase
    }
}

extension SyncEngine {
    /// The number of records and operations that wait, by reason.
    ///
    /// The cost does not depend on how much waits, because each commit updates the counts. For
    /// entities that the configuration's selection narrows by a predicate,
    /// ``StoreInfo.Outbox/examinedMax`` operations are examined. If a program that does not count wrote
    /// last, all records are read until later commits, a thousand records each, have counted again.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func pending() throws -> StoreInfo.Outbox {
        try scope.pending()
    }

    /// The records that can't be pushed as they are, with the reasons.
    ///
    /// A record leaves the list when it is edited, when ``retryParked(_:)`` is called for it, or
    /// when a policy decides for the service's version.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func parked() throws -> [ParkedRecord] {
        try store.read { try ParkedRecord.all($0.reader) }
    }

    /// The records that were changed on both sides, newest first, with the values of each side.
    ///
    /// - Parameters:
    ///   - filter: Which conflicts.
    ///   - limit: The most conflicts to read.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func conflicts(
        matching filter: RecordConflict.Filter = RecordConflict.Filter(), limit: Int = .max
    ) throws -> [RecordConflict] {
        try store.read { try $0.conflicts(matching: filter, limit: limit) }
    }

    /// Makes parked records pending again; the next round tries to push them.
    ///
    /// - Parameter records: Some of ``parked()``; nil is all of them.
    /// - Returns: the number of records that were parked.
    /// - Throws: `StoreError` if the store fails.
    @discardableResult
    public func retryParked(_ records: [ParkedRecord]? = nil) async throws -> Int {
        try await store.withLogWriter { try ParkedRecord.release(records, in: $0) }
    }

    /// Continues after the zone was purged, or deleted by its user or by ``destroyZone()``; the
    /// next round makes it again.
    ///
    /// Does nothing if the engine is not suspended.
    /// - Returns: whether it was suspended.
    /// - Throws: `invalidConfiguration` if the store belongs to another zone; `StoreError` if
    ///   the store fails. The engine stays suspended then.
    @discardableResult
    public func resume(after decision: SyncConfiguration.ZoneLossDecision) async throws -> Bool {
        try scope.checkZone()
        let wasSuspended = try await scope.endSuspension(erases: decision == .erase)
        if wasSuspended { hand(.resumed) }
        return wasSuspended
    }
}
