import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

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
        if let violation = SyncConfiguration.violation(ofZoneName: zoneName) {
            throw SyncError(.invalidConfiguration, violation)
        }
        try await request(.move(to: zoneName, adoptsUser: adoptsUser))
        return try await sync()
    }

    func takeStore(to zoneName: String, adoptsUser: Bool) async throws {
        try checkCalled()
        let user = adoptsUser ? try await service.currentUser() : try await checkUser()
        let (claims, owner) = try store.read {
            (try $0.reader.zoneClaims(), try $0.reader.boundUser())
        }
        if claims != ZoneClaims(bound: [zoneName]) || owner != user {
            try await write { try ZoneMove($0).begin(to: zoneName, user: user) }
            try await finishMove(to: zoneName)
        }
        movedTo.withLock { $0 = zoneName }
    }

    /// Makes sure that the store belongs to the engine's zone, and carries a move there through.
    ///
    /// - Throws: `invalidConfiguration` if the store belongs to another zone; `ServiceError` if a move
    ///   could not be carried through, and the next round tries again.
    func settleZone() async throws {
        try checkZone()
        let target = try store.read { try $0.reader.zoneClaims() }.target
        guard let target else { return }
        do {
            try await finishMove(to: target)
        } catch let error as ServiceError {
            try await base(on: target)
            throw error
        }
    }

    /// Forgets what other zones had, a bounded number of records in a transaction, and binds the store
    /// to the new one at the end, which the engine's basis is then. Each step may be done again.
    private func finishMove(to target: String) async throws {
        let rowsMax = min(configuration.recordsPerPass, Self.movedRowsMax)
        repeat {
            try await fetchEvicted()
            try await base(on: target)
            let total = try store.read { try $0.reader.rowCount }
            var (place, done): (RecordPlace?, Int) = (nil, 0)
            repeat {
                try checkCalled()
                let last = place
                let step = try await write {
                    try ZoneLoss($0).forgetService(after: last, rowsMax: rowsMax)
                }
                place = step.last
                done += step.rows
                hub.send(.moving(records: done, total: max(done, total)))
            } while place != nil
        } while try await !write { try ZoneMove($0).end(to: target) }
    }

    /// The most rows that one transaction of a move looks at.
    private static let movedRowsMax = 2_000

    /// Takes evicted records back from the zones that the store belonged to.
    ///
    /// A replica that lags behind may not have a record, or an older version than the one that was
    /// here: these are asked for once more. What none of the zones has then is gone.
    private func fetchEvicted() async throws {
        let (names, claims, owner) = try store.read {
            (
                try $0.reader.evictedNames(limit: .max), try $0.reader.zoneClaims(),
                try $0.reader.boundUser()
            )
        }
        guard !names.isEmpty else { return }
        try checkCalled()
        guard try await service.currentUser() == owner else {
            throw SyncError(
                .invalidConfiguration,
                "The store has \(names.count) evicted records, which only a zone of another user "
                    + "has. Sign in as that user and call fetchAgain for them first.")
        }
        var left = names.map(\.description)
        for takesOlder in [false, true] {
            for zone in claims.bound {
                do {
                    left = try await fetchAgain(left, from: zone, takesOlder: takesOlder).left
                } catch let error as ServiceError where error.code.scope == .zone {
                    continue
                }
            }
        }
        let missing = left
        guard !missing.isEmpty else { return }
        try await write { context in
            for name in missing { _ = try context.endEviction(of: RecordKey(RecordName(name))) }
        }
    }
}
