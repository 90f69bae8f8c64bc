import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Begins anew with a zone, or ends it, as the application asked; what was begun is carried through.
struct ZoneReset {
    private let leased: LeasedStore

    init(_ leased: LeasedStore) { self.leased = leased }

    func deleteZoneForGood() async throws {
        let old = try await requiredState()
        try await leased.change { $0.suspension = .zoneDeletedByUser }
        do {
            try await deleteZone()
        } catch {
            do {
                try await leased.change { $0 = old }
            } catch is SyncPrecondition.Outdated {
                // Another call has decided about the zone meanwhile.
            }
            throw error
        }
    }

    func eraseRecords(keepsUnsynced: Bool) async throws {
        _ = try await requiredState()
        try await leased.write { [zoneName = leased.zoneName, slot = leased.scope.slot] context in
            try ZoneLoss(context, in: slot).eraseRecords(keepsUnsynced: keepsUnsynced)
            try context.fetchAll(zoneName, in: slot)
        }
    }

    func beginRemote() async throws {
        _ = try await requiredState()
        try await leased.change {
            $0.resetsRemote = true
            $0.suspension = nil
        }
    }

    func beginResync(from source: ResyncSource) async throws {
        _ = try await requiredState()
        try await leased.write { [zoneName = leased.zoneName, slot = leased.scope.slot] context in
            if source == .local {
                try ZoneLoss(context, in: slot).forgetService(keepsUnsynced: true)
            }
            try context.fetchAll(zoneName, in: slot, prefersLocal: source == .local)
        }
    }

    /// The state of the zone, if it is the store's, and the user too.
    private func requiredState() async throws -> ZoneState {
        try await ZoneMover(leased).settle()
        try leased.checkCalled()
        _ = try await leased.checkUser()
        try leased.checkCalled()
        return try leased.scope.zoneState()
    }

    private func deleteZone() async throws {
        try leased.checkCalled()
        do {
            try await leased.service.deleteZone(leased.scope.zone)
        } catch {
            // If it is gone already, that is what was wanted.
            if error.code.scope != .zone { throw error }
        }
    }

    /// Deletes the zone and forgets it, if that was begun.
    ///
    /// - Throws: `ServiceError` if the service did not do it; the next round tries again.
    func finishRemote() async throws {
        guard try leased.scope.zoneState().resetsRemote == true else { return }
        _ = try await leased.checkUser()
        try await deleteZone()
        try await forgetZone()
    }

    /// Forgets what was known of the zone: it is made anew, and everything is uploaded to it.
    func forgetZone() async throws {
        let (name, slot) = (leased.zoneName, leased.scope.slot)
        try await leased.write { context in
            var state = ZoneState()
            let old = try context.reader.zoneState(name)
            state.userName = old.userName
            state.retry = old.retry
            state.prefersLocal = old.prefersLocal
            // What is exchanged stays as this round noted it.
            state.fetchedFields = old.fetchedFields
            state.exchangedEntities = old.exchangedEntities
            state.holdsBack = old.holdsBack
            try ZoneLoss(context, in: slot).forgetService()
            try FullFetch(context, in: slot).forgetFetched()
            try context.setZoneState(state, name)
        }
    }
}

extension LogWriter {
    /// Lets the next round fetch everything.
    fileprivate func fetchAll(
        _ zone: String, in slot: UInt8, prefersLocal: Bool = false
    ) throws {
        var state = try reader.zoneState(zone)
        state.beginAnew()
        if prefersLocal { state.prefersLocal = true }
        try FullFetch(self, in: slot).forgetFetched()
        try setZoneState(state, zone)
    }
}
