import BackstitchCore
import BackstitchLog
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

    // MARK: Steps

    func deleteZoneForGood() async throws {
        let old = try await requiredState()
        try await change { $0.suspension = .zoneDeletedByUser }
        do {
            try await deleteZone()
        } catch {
            do {
                try await change { $0 = old }
            } catch is SyncBasis.Outdated {
                // Somebody has decided about the zone meanwhile.
            }
            throw error
        }
    }

    func eraseRecords(keepsUnsynced: Bool) async throws {
        _ = try await requiredState()
        try await write { [zoneName] context in
            try ZoneLoss(context).eraseRecords(keepsUnsynced: keepsUnsynced)
            try context.fetchAll(zoneName)
        }
    }

    func beginRemoteReset() async throws {
        _ = try await requiredState()
        try await change {
            $0.resetsRemote = true
            $0.suspension = nil
        }
    }

    func beginResync(from source: ResyncSource) async throws {
        _ = try await requiredState()
        try await write { [zoneName] context in
            if source == .local { try ZoneLoss(context).forgetService(keepsUnsynced: true) }
            try context.fetchAll(zoneName, prefersLocal: source == .local)
        }
    }

    /// The state of the zone, if it is the store's, and the user too.
    private func requiredState() async throws -> ZoneState {
        try await settleZone()
        try checkCalled()
        _ = try await checkUser()
        try checkCalled()
        return try store.read { [zoneName] in try $0.reader.zoneState(zoneName) }
    }

    private func deleteZone() async throws {
        try checkCalled()
        do {
            try await service.deleteZone(zone)
        } catch {
            // If it is gone already, that is what was wanted.
            if error.code.scope != .zone { throw error }
        }
    }

    /// Deletes the zone and forgets it, if that was begun.
    ///
    /// - Throws: `ServiceError` if the service did not do it; the next round tries again.
    func finishRemoteReset() async throws {
        let isBegun = try store.read { [zoneName] in
            try $0.reader.zoneState(zoneName).resetsRemote == true
        }
        guard isBegun else { return }
        _ = try await checkUser()
        try await deleteZone()
        try await forgetZone()
    }
}

extension LogWriter {
    /// Lets the next round fetch everything.
    fileprivate func fetchAll(_ zone: String, prefersLocal: Bool = false) throws {
        var state = try reader.zoneState(zone)
        state.beginAnew()
        if prefersLocal { state.prefersLocal = true }
        try FullFetch(self).forgetFetched()
        try setZoneState(state, zone)
    }
}
