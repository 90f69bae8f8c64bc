import BackstitchCore
import BackstitchStore

/// Whose version wins when everything is compared again.
public enum ResyncSource: String, Hashable, Sendable, CaseIterable {
    /// Everything is fetched again. Records without unsynced edits become what the service has, or
    /// are deleted if it has none; for edited ones the conflict policy decides as usual.
    case server
    /// All local records are uploaded again and win; the lost values are in the conflict journal.
    /// Records that only the service has are pulled; nothing is deleted.
    case local
}

extension SyncEngine {
    /// Deletes the zone with all its records from the service, for all devices of the user.
    ///
    /// Local records and unsynced edits stay. The engine is suspended, as if the user had deleted
    /// the zone, until ``resume(after:)`` decides about the local records. Other devices that sync
    /// meanwhile make the zone again with what they have.
    /// - Throws: ``SyncError``; the engine is then as it was. If it is stopped meanwhile, the zone may
    ///   be deleted or not, and the next engine is suspended. `CancellationError`.
    public func destroyZone() async throws {
        try await request(.destroyZone)
    }

    /// Deletes the local records and fetches them again from the service.
    ///
    /// The service keeps its records. The local ones go in one transaction before the fetch.
    /// - Parameter keepsUnsynced: Whether records with unsynced edits, parked ones too, stay and
    ///   are pushed as usual. Otherwise they are deleted too; their values stay in
    ///   ``conflicts(limit:)``.
    /// - Returns: a report of the round that fetches.
    /// - Throws: ``SyncError``, `CancellationError`. If the service can't be reached, the records are gone already and
    ///   come with the next round that reaches it.
    @discardableResult
    public func resetLocal(keepsUnsynced: Bool = true) async throws -> SyncReport {
        try await request(.resetLocal(keepsUnsynced: keepsUnsynced))
        return try await sync()
    }

    /// Deletes the zone on the service and uploads everything here to a new one.
    ///
    /// Records that only the service has are lost; sync before to pull them. If the service can't
    /// be reached, the next round continues the reset.
    /// - Returns: a report of the round that uploads.
    /// - Throws: ``SyncError``.
    @discardableResult
    public func resetRemote() async throws -> SyncReport {
        try await request(.resetRemote)
        return try await sync()
    }

    /// Compares all local records with all of the service's, as if for the first time. Use it if
    /// the two seem to differ. No unsynced edit is lost.
    ///
    /// - Returns: a report of the round.
    /// - Throws: ``SyncError``. Once begun it is carried through by later rounds.
    @discardableResult
    public func resync(from source: ResyncSource) async throws -> SyncReport {
        try await request(.resync(from: source))
        return try await sync()
    }
}
