import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// Takes a store to another zone, and carries through what was begun.
struct ZoneMover {
    private let leased: LeasedStore

    init(_ leased: LeasedStore) { self.leased = leased }

    /// Takes the store to another zone, after checking the user.
    func move(to zoneName: String, adoptsUser: Bool) async throws {
        try leased.checkCalled()
        let user =
            adoptsUser
            ? try await leased.service.currentUser() : try await leased.checkUser()
        let (claims, owner) = try leased.store.read {
            (try ZoneClaims($0.reader), try ZoneStates($0.reader).boundUser())
        }
        if claims != ZoneClaims(bound: [zoneName]) || owner != user {
            try await leased.write { try ZoneMove($0).begin(to: zoneName, user: user) }
            try await finishMove(to: zoneName)
        }
        leased.scope.movedTo.withLock { $0 = zoneName }
    }

    /// Makes sure that the store belongs to the engine's zone, and carries a move there through.
    ///
    /// - Throws: `invalidConfiguration` if the store belongs to another zone; `ServiceError` if a move
    ///   could not be carried through, and the next round tries again.
    func settle() async throws {
        try leased.scope.checkZone()
        let target = try leased.store.read { try ZoneClaims($0.reader) }.target
        guard let target else { return }
        do {
            try await finishMove(to: target)
        } catch let error as ServiceError {
            try await leased.base(on: target)
            throw error
        }
    }

    /// Forgets what other zones had, a bounded number of records in a transaction, and binds the store
    /// to the new one at the end, which the engine's basis is then. Each step may be done again.
    private func finishMove(to target: String) async throws {
        let rowsMax = min(leased.configuration.recordsPerPass, Self.movedRowsMax)
        let slot = leased.scope.slot
        repeat {
            try await fetchEvicted()
            try await leased.base(on: target)
            let total = try leased.store.read { try RecordScan($0.reader).rowCount }
            var (place, done): (StoredRecordID?, Int) = (nil, 0)
            repeat {
                try leased.checkCalled()
                let last = place
                let step = try await leased.write {
                    try ZoneLoss($0, in: slot).forgetService(after: last, rowsMax: rowsMax)
                }
                place = step.last
                done += step.rows
                leased.scope.events.send(.moving(records: done, total: max(done, total)))
            } while place != nil
        } while try await !leased.write { try ZoneMove($0).end(to: target) }
    }

    /// The most rows that one transaction of a move looks at.
    private static let movedRowsMax = 2_000

    /// Takes evicted records back from the zones that the store belonged to.
    ///
    /// A replica that lags behind may not have a record, or an older version than the one that was
    /// here: these are asked for once more. What none of the zones has then is gone.
    private func fetchEvicted() async throws {
        let slot = leased.scope.slot
        let (evicted, claims, owner) = try leased.store.read {
            (
                try RecordScan($0.reader).evictedKeys(in: slot, limit: .max),
                try ZoneClaims($0.reader),
                try ZoneStates($0.reader).boundUser()
            )
        }
        guard !evicted.isEmpty else { return }
        try leased.checkCalled()
        guard try await leased.service.currentUser() == owner else {
            throw SyncError(
                .invalidConfiguration,
                "The store has \(evicted.count) evicted records, which only a zone of another user "
                    + "has. Sign in as that user and call fetchAgain for them first.")
        }
        var left = evicted.map(\.name.description)
        for takesOlder in [false, true] {
            for zone in claims.bound {
                do {
                    left = try await RecordFetcher(leased).fetchAgain(
                        left, from: zone, takesOlder: takesOlder
                    ).left
                } catch let error as ServiceError where error.code.scope == .zone {
                    continue
                }
            }
        }
        let missing = left
        guard !missing.isEmpty else { return }
        try await leased.write { context in
            for name in missing {
                _ = try context.marks.endEviction(of: RecordKey(RecordName(name), zone: slot))
            }
        }
    }
}
