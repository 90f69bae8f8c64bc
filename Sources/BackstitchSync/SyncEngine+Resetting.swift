import BackstitchCore
import BackstitchStore

/// Whose version counts when everything is compared anew.
public enum ResyncSource: String, Hashable, Sendable, CaseIterable {
    /// Everything is fetched again. Records without unsynced edits become what the service has, or end
    /// if it has none; for edited ones the conflict policy decides as ever.
    case server
    /// Everything here is uploaded again and wins over what the service has; what is lost of that is
    /// in the conflict journal. What only the service has is pulled, and deleted nowhere.
    case local
}

extension SyncEngine {
    /// Deletes the zone with all its records from the service, for all devices of the user.
    ///
    /// What is here stays, and so do unsynced edits. The engine is suspended as after the user deleted
    /// the zone, until ``resume(after:)`` says what becomes of the local records. Other devices that
    /// sync meanwhile make the zone again with what they have.
    /// - Throws: ``SyncError``; the engine is then as it was. If it is stopped meanwhile, the zone may
    ///   be deleted or not, and the next engine is suspended. `CancellationError`.
    public func destroyZone() async throws {
        try await request(.destroyZone)
    }

    /// Deletes what is here and fetches it again from the service.
    ///
    /// Nothing is deleted there. The records go in one transaction before the fetch begins.
    /// - Parameter keepsUnsynced: Whether records with edits that the service does not have, parked
    ///   ones too, stay as they are and are pushed as ever. Without it they go as well, and what is
    ///   lost stays in ``conflicts(limit:)``.
    /// - Returns: what the round that fetches did.
    /// - Throws: ``SyncError``, `CancellationError`. If the service can't be reached, the records are gone already and
    ///   come with the next round that reaches it.
    @discardableResult
    public func resetLocal(keepsUnsynced: Bool = true) async throws -> SyncReport {
        try await request(.resetLocal(keepsUnsynced: keepsUnsynced))
        return try await sync()
    }

    /// Deletes the zone on the service and uploads everything here to a new one.
    ///
    /// What only the service has is lost; sync before, to have it here. Once begun it is carried
    /// through: if the service can't be reached, the next round goes on with it.
    /// - Returns: what the round that uploads did.
    /// - Throws: ``SyncError``.
    @discardableResult
    public func resetRemote() async throws -> SyncReport {
        try await request(.resetRemote)
        return try await sync()
    }

    /// Compares everything here with everything on the service, as though for the first time; for when
    /// the two are believed to differ. No unsynced edit is lost.
    ///
    /// - Returns: what the round did.
    /// - Throws: ``SyncError``. Once begun it is carried through by later rounds.
    @discardableResult
    public func resync(from source: ResyncSource) async throws -> SyncReport {
        try await request(.resync(from: source))
        return try await sync()
    }
}
