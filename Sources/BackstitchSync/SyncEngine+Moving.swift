import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Takes the store to another zone: everything here is uploaded there, unsynced edits too.
    ///
    /// The old zone stays as it is: nothing is deleted or changed in it, and what other devices still
    /// write to it does not come here any more. So synchronise before, and move the other devices too.
    /// Deletes that the old zone was not told of yet are not told to it, but to the new one if that
    /// has the record. If the new zone has records already, they come here; if both have a
    /// record, the values here win, and what is lost by that is in ``conflicts(matching:limit:)``.
    /// Nothing is deleted here. Evicted records are fetched from the old zone first, because nobody
    /// else has them. Parked records are tried again.
    ///
    /// The store is then bound to the new zone, and this engine goes on with it. Give the new name to
    /// later engines: with the old one they refuse to exchange. A store that was synchronised with
    /// several zones by a version before this one exchanges again once this says which one counts.
    ///
    /// The intention is stored before anything is changed. After a crash the next round of an engine
    /// with the new name carries it through, or another call. Other writers wait for some thousand
    /// records at most. ``SyncEngineEvent/moving(records:total:)`` tells how far it has come.
    ///
    /// If the store is bound to this zone and user already, this is a round like any other.
    ///
    /// - Parameters:
    ///   - zoneName: The zone, which is made if it does not exist.
    ///   - adoptsUser: Whether a store that belongs to another user becomes the one's who is signed
    ///     in now. All its records are uploaded for that user.
    /// - Returns: what the round did that uploads.
    /// - Throws: ``SyncError``: `invalidConfiguration` for an impossible name; `standby` if another
    ///   process synchronises the store; `blocked` if another user is signed in, or none. If the
    ///   round that uploads ends early, the store is moved all the same, and later rounds upload.
    /// - Complexity: O(*n*) in the records of the store, and their upload.
    @discardableResult
    public func move(to zoneName: String, adoptsUser: Bool = false) async throws -> SyncReport {
        if let violation = SyncConfiguration.violation(ofZoneName: zoneName) {
            throw SyncError(.invalidConfiguration, violation)
        }
        try await request(.move(to: zoneName, adoptsUser: adoptsUser))
        return try await sync()
    }
}
