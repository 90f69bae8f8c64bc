import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// The lease under which an engine exchanges. The engine's actor has one, and uses it alone.
final class SyncSession {
    let scope: EngineContext
    let service: any RecordService
    /// Why no further request is to begin; nil while the engine goes on.
    private var ending: SyncError?
    /// The engine's right to exchange; held until its last request has ended.
    private var lease: SyncLease?
    /// The last basis of requests that was read under the lease.
    private var basis: SyncPrecondition?

    init(_ scope: EngineContext, _ service: any RecordService) {
        self.scope = scope
        self.service = service
    }

    var store: Store { scope.store }
    var configuration: SyncConfiguration { scope.configuration }

    /// - Throws: if no further request is to begin.
    func checkCalled() throws {
        if let ending { throw ending }
        try Task.checkCancellation()
    }

    // MARK: The lease

    /// Takes the engine's lease if it has none.
    ///
    /// - Returns: Whether this engine may exchange.
    func takeLease() throws -> Bool {
        if lease == nil {
            basis = nil
            lease = try SyncLease.take(of: store)
        }
        return lease != nil
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

    /// Reads what requests to a zone are made from next.
    ///
    /// - Throws: `SyncPrecondition.Outdated` if the engine's lease is over.
    func basis(on zone: ZonePlace) async throws -> SyncPrecondition {
        guard let lease else { throw SyncPrecondition.Outdated() }
        let next = try await SyncPrecondition.of(lease, in: store, zone: zone, after: basis)
        basis = next
        return next
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
