import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Begins anew with a zone, or ends it, as the application asked; what was begun is carried through.
struct ZoneReset {
    private let exchange: ZoneExchange

    init(_ exchange: ZoneExchange) { self.exchange = exchange }

    func deleteZoneForGood() async throws {
        let old = try await requiredState()
        try await exchange.change { $0.suspension = .zoneDeletedByUser }
        do {
            try await deleteZone()
        } catch {
            do {
                try await exchange.change { $0 = old }
            } catch is SyncPrecondition.Outdated {
                // Another call has decided about the zone meanwhile.
            }
            throw error
        }
    }

    func eraseRecords(keepsUnsynced: Bool) async throws {
        _ = try await requiredState()
        try await exchange.write { [place = exchange.place] context in
            try ZoneLoss(context, in: place.slot).eraseRecords(keepsUnsynced: keepsUnsynced)
            try Self.fetchAll(place, context)
        }
    }

    func beginRemote() async throws {
        _ = try await requiredState()
        try await exchange.change {
            $0.resetsRemote = true
            $0.suspension = nil
        }
    }

    func beginResync(from source: ResyncSource) async throws {
        _ = try await requiredState()
        try await exchange.write { [place = exchange.place] context in
            if source == .local {
                try ZoneLoss(context, in: place.slot).forgetService(keepsUnsynced: true)
            }
            try Self.fetchAll(place, prefersLocal: source == .local, context)
        }
    }

    /// Lets the next round fetch everything.
    private static func fetchAll(
        _ zone: ZonePlace, prefersLocal: Bool = false, _ log: LogWriter
    ) throws {
        var state = try log.reader.zoneState(zone)
        state.beginAnew()
        if prefersLocal { state.prefersLocal = true }
        try FullFetch(log, in: zone.slot).forgetFetched()
        try log.setZoneState(state, zone)
    }

    /// The state of the zone, if it is the store's, and the user too.
    private func requiredState() async throws -> ZoneState {
        try await ZoneMover(exchange).settle()
        try exchange.session.checkCalled()
        _ = try await exchange.session.checkUser()
        try exchange.session.checkCalled()
        return try exchange.state()
    }

    private func deleteZone() async throws {
        try exchange.session.checkCalled()
        do {
            try await exchange.service.deleteZone(exchange.zone)
        } catch {
            // If it is gone already, that is what was wanted.
            if error.code.scope != .zone { throw error }
        }
    }

    /// Deletes the zone and forgets it, if that was begun.
    ///
    /// - Throws: `ServiceError` if the service did not do it; the next round tries again.
    func finishRemote() async throws {
        guard try exchange.state().resetsRemote == true else { return }
        _ = try await exchange.session.checkUser()
        try await deleteZone()
        try await forgetZone()
    }

    /// Forgets what was known of the zone: it is made anew, and everything is uploaded to it.
    func forgetZone() async throws {
        let place = exchange.place
        try await exchange.write { context in
            var state = ZoneState()
            let old = try context.reader.zoneState(place)
            state.userName = old.userName
            state.retry = old.retry
            state.prefersLocal = old.prefersLocal
            // What is exchanged stays as this round noted it.
            state.fetchedFields = old.fetchedFields
            state.exchangedEntities = old.exchangedEntities
            state.holdsBack = old.holdsBack
            try ZoneLoss(context, in: place.slot).forgetService()
            try FullFetch(context, in: place.slot).forgetFetched()
            try context.setZoneState(state, place)
        }
    }
}
