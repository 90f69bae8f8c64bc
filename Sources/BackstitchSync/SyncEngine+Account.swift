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
    /// ``AccountStores`` does.
    /// - Throws: `StoreError` where the store can't be read.
    public nonisolated func boundUser() throws -> String? {
        try store.read { try $0.reader.boundUser() }
    }

    /// Takes the system's news that somebody signed in or out: the next round, which begins at once,
    /// checks the user before it exchanges anything.
    public func accountChanged() {
        hasCheckedAccount = false
        trigger(.start)
    }
}
