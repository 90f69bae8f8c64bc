import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// The lease under which an engine exchanges, and what its next request is made from.
///
/// Everything that rounds store goes through ``write(_:)``: so what is answered to a request that the
/// store has moved on from is never stored. The engine's actor has one, and uses it alone.
final class LeasedStore {
    let scope: EngineContext
    let service: any RecordService
    /// Why no further request is to begin; nil while the engine goes on.
    private var ending: SyncError?
    /// The engine's right to exchange; held until its last request has ended.
    private var lease: SyncLease?
    /// What the next request is made from.
    private var basis: SyncPrecondition?

    init(_ scope: EngineContext, _ service: any RecordService) {
        self.scope = scope
        self.service = service
    }

    var store: Store { scope.store }
    var configuration: SyncConfiguration { scope.configuration }
    var zoneName: String { scope.zoneName }

    /// - Throws: if no further request is to begin.
    func checkCalled() throws {
        if let ending { throw ending }
        try Task.checkCancellation()
    }

    // MARK: The lease

    /// Takes the engine's lease if it has none, and looks at what the next requests are made from.
    ///
    /// - Returns: Whether this engine may exchange.
    func takeLease() async throws -> Bool {
        if lease == nil {
            basis = nil
            lease = try SyncLease.take(of: store)
        }
        guard lease != nil else { return false }
        do {
            try await base(on: zoneName)
            scope.recorder.withLock { $0.takeLease(zone: zoneName) }
            return true
        } catch is SyncPrecondition.Outdated {
            giveBackLease()
            return false
        }
    }

    /// Ends the lease: nothing is stored under it any more, though a request may be under way, and no
    /// further one begins.
    func endLease(_ ending: SyncError?) {
        self.ending = ending
        scope.hasEnded.withLock { $0 = true }
        lease?.end()
    }

    /// Lets another process have the lease: no request is under way.
    func giveBackLease() {
        scope.recorder.withLock { $0.giveBackLease() }
        (basis, lease) = (nil, nil)
    }

    /// Makes the next requests from what the store has of a zone.
    ///
    /// - Throws: `SyncPrecondition.Outdated` if the engine's lease is over.
    func base(on zone: String) async throws {
        guard let lease else { throw SyncPrecondition.Outdated() }
        basis = try await SyncPrecondition.of(lease, in: store, zone: zone, after: basis)
    }

    // MARK: Storing

    /// Stores what a reply told, or what was decided from it, if the store is still the one that
    /// the request was made from.
    ///
    /// - Throws: `SyncPrecondition.Outdated` if it is not, and nothing was stored.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (LogWriter) throws -> Result
    ) async throws -> Result {
        guard let basis else { throw SyncPrecondition.Outdated() }
        let (result, next) = try await basis.write(to: store, body)
        self.basis = next
        return result
    }

    /// Changes the stored state of the zone. What changes nothing is not written.
    func change(_ change: @escaping @Sendable (inout ZoneState) -> Void) async throws {
        let name = zoneName
        let before = try scope.zoneState()
        var after = before
        change(&after)
        guard after != before else { return }
        try await write { log in
            var state = try log.reader.zoneState(name)
            change(&state)
            try log.setZoneState(state, name)
        }
    }

    // MARK: The user

    /// Makes sure that the service's user is the one that the store belongs to.
    ///
    /// - Returns: The user's name.
    func checkUser() async throws -> String {
        let user = try await service.currentUser()
        if let known = try store.read({ try ZoneStates($0.reader).boundUser() }), known != user {
            throw ServiceError(
                .accountChanged,
                "The store belongs to another user. Sign in as that user, or open another "
                    + "store for this one.")
        }
        return user
    }
}
