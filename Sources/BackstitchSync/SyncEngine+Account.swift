import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// The record name of the user that the store belongs to; nil before the first set-up.
    ///
    /// A store is bound to the first user it is synchronised for. With another one signed in, rounds
    /// end with `blocked` and `accountChanged`, with nobody `blocked` and `notAuthenticated`: nothing
    /// is sent, nothing is deleted here, and what is pending waits until that user is back.
    /// ``pendingRecords(limit:)`` and ``parked()`` tell what that is; `Store.exportOutbox(to:)` and
    /// `Store.exportParked(to:)` write it down. Give the other user a store of their own, as
    /// ``AccountStores`` does, or hand them this one with ``move(to:adoptsUser:)``.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func boundUser() throws -> String? {
        try store.read { try $0.reader.boundUser() }
    }

    /// The name of the zone that the store belongs to; nil before the first set-up, and where a version
    /// before this one synchronised the store with several zones.
    ///
    /// An engine whose configuration names another zone exchanges nothing, with an error
    /// `invalidConfiguration`, and so does any if there are several; ``move(to:adoptsUser:)`` takes
    /// the records to another zone, or says which one counts.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func boundZone() throws -> String? {
        let claims = try store.read { try $0.reader.zoneClaims() }
        return claims.bound.count == 1 ? claims.bound.first : nil
    }

    /// Takes the system's news that somebody signed in or out: the next round, which begins at once,
    /// checks the user before it exchanges anything.
    public func accountChanged() { hand(.accountChanged) }
}
