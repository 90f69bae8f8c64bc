import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// The record name of the user that the store belongs to; nil before the first set-up.
    ///
    /// A store is bound to the first user it is synchronised for. If another user is signed in,
    /// rounds end with `blocked` and `accountChanged`; if no user is, with `blocked` and
    /// `notAuthenticated`. Nothing is sent or deleted, and pending changes wait until the user is
    /// back. ``pendingRecords(limit:)`` and ``parked()`` list them; `Store.exportOutbox(to:)` and
    /// `Store.exportParked(to:)` export them. Give the other user a store of their own, as
    /// ``AccountStores`` does, or hand them this one with ``move(to:adoptsUser:)``.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func boundUser() throws -> String? {
        try store.read { try ZoneStates($0.reader).boundUser() }
    }

    /// The name of the zone that the store belongs to; nil before the first set-up, and if an
    /// earlier version synchronised the store with several zones.
    ///
    /// An engine whose configuration names another zone exchanges nothing and fails with
    /// `invalidConfiguration`; so does every engine if there are several zones.
    /// ``move(to:adoptsUser:)`` takes the records to another zone, or chooses one of several.
    /// - Throws: `StoreError` if the store can't be read.
    public nonisolated func boundZone() throws -> String? {
        let claims = try store.read { try ZoneClaims($0.reader) }
        return claims.bound.count == 1 ? claims.bound.first : nil
    }

    /// Tells the engine that a user signed in or out. A round begins at once, and checks the user
    /// before it exchanges anything.
    public func accountChanged() { hand(.accountChanged) }
}
