import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Moves the store to another zone: all records are uploaded there, with their unsynced edits.
    ///
    /// The old zone is not changed, and later writes of other devices to it do not arrive here. So
    /// synchronise before, and move the other devices too. Unsynced deletes do not reach the old
    /// zone; they reach the new one if it has the record. Records of the new zone are pulled; if
    /// both have a record, the local values win, and the lost ones are in
    /// ``conflicts(matching:limit:)``. Nothing is deleted here. Evicted records are fetched from
    /// the old zone first. Parked records are tried again.
    ///
    /// The store is then bound to the new zone, and this engine continues with it. Give the new
    /// name to later engines: with the old one they refuse to exchange. If an earlier version used
    /// several zones, this call chooses one of them.
    ///
    /// The intention is stored before anything is changed. After a crash, the next round of an
    /// engine with the new name finishes the move, or another call does. Other writers wait for
    /// some thousand records at most. ``SyncEngineEvent/moving(records:total:)`` tells how far it
    /// has come.
    ///
    /// If the store is bound to this zone and user already, this is a round like any other.
    ///
    /// - Parameters:
    ///   - zoneName: The zone, which is made if it does not exist.
    ///   - adoptsUser: Whether a store that belongs to another user is taken over by the signed-in
    ///     user. All its records are uploaded for that user.
    /// - Returns: a report of the round that uploads.
    /// - Throws: ``SyncError``: `invalidConfiguration` for an impossible name; `standby` if another
    ///   process synchronises the store; `blocked` if another user is signed in, or none. If the
    ///   round that uploads ends early, the store is moved all the same, and later rounds upload.
    /// - Complexity: O(*n*) in the records of the store, and their upload.
    @discardableResult
    public func move(to zoneName: String, adoptsUser: Bool = false) async throws -> SyncReport {
        try scope.check(zoneName: zoneName)
        try await request(.move(to: zoneName, adoptsUser: adoptsUser))
        return try await sync()
    }
}
