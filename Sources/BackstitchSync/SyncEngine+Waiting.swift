public import BackstitchCore
import BackstitchLog
import BackstitchStore

/// What becomes of the records here when the zone that held them is gone.
public enum ZoneLossDecision: String, Hashable, Sendable, CaseIterable {
    /// The zone is made again, and everything here is uploaded to it.
    case reupload
    /// Everything here is deleted, unsynced changes too, and the zone begins empty. What is lost of
    /// those stays in ``SyncEngine/conflicts(limit:)``.
    case erase
}

extension SyncEngine {
    /// How many records and operations wait, by what keeps them.
    ///
    /// Costs the same whatever waits: each commit keeps the counts up. Of entities that the
    /// configuration's selection narrows by a predicate, ``OutboxCounts/examinedMax`` operations are
    /// looked at. If another version of the program wrote last, which does not count, all
    /// records are read until the commits of this one, a thousand records each, have counted again.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func pending() throws -> OutboxCounts {
        try scope.pending()
    }

    /// The records that can't be pushed as they are, with the reasons.
    ///
    /// A record leaves the list when it is edited, when ``retryParked(_:)`` is called for it, or
    /// when a policy decides for the service's version.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func parked() throws -> [ParkedRecord] {
        try store.read { try $0.reader.parkedRecords() }
    }

    /// The records that were changed on both sides, newest first, with the values of each side.
    ///
    /// - Parameters:
    ///   - filter: Which conflicts.
    ///   - limit: The most conflicts to read.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func conflicts(
        matching filter: ConflictFilter = ConflictFilter(), limit: Int = .max
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
        try await store.withLogWriter { context in
            var count = 0
            for record in try records ?? context.reader.parkedRecords() {
                guard let table = context.reader.catalog.table(named: record.record.entity) else {
                    continue
                }
                if try context.release(table.number, record.record.key) { count += 1 }
            }
            return count
        }
    }

    /// Goes on after the zone was deleted by its user or by ``destroyZone()``, or purged; the next
    /// round makes it again.
    ///
    /// Does nothing if the engine is not suspended.
    /// - Returns: whether it was suspended.
    /// - Throws: `invalidConfiguration` if the store belongs to another zone; `StoreError` if
    ///   the store fails. The engine stays suspended then.
    @discardableResult
    public func resume(after decision: ZoneLossDecision) async throws -> Bool {
        try scope.checkZone()
        let (name, erases) = (zoneName, decision == .erase)
        let wasSuspended = try await store.withLogWriter {
            try ZoneLoss($0).endSuspension(of: name, erases: erases)
        }
        if wasSuspended { hand(.resumed) }
        return wasSuspended
    }
}
