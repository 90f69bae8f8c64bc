import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// Takes a store's own zone to another one, and carries through what was begun.
struct ZoneMover {
    /// The store's own zone.
    private let own: ZoneExchange
    private var session: SyncSession { own.session }

    init(_ own: ZoneExchange) { self.own = own }

    /// Takes the store to another zone, after checking the user.
    func move(to zoneName: String, adoptsUser: Bool) async throws {
        try session.checkCalled()
        let user =
            adoptsUser
            ? try await session.service.currentUser() : try await session.checkUser()
        let (claims, owner) = try session.store.read {
            (try ZoneClaims($0.reader), try ZoneStates($0.reader).boundUser())
        }
        if claims != ZoneClaims(bound: [zoneName]) || owner != user {
            try await own.write { try ZoneMove($0).begin(to: zoneName, user: user) }
            try await finishMove(to: ZoneExchange(session, .own(zoneName)))
        }
        session.scope.movedTo.withLock { $0 = zoneName }
    }

    /// Makes sure that the store belongs to the engine's zone, and carries a move there through.
    ///
    /// - Throws: `invalidConfiguration` if the store belongs to another zone; `ServiceError` if a move
    ///   could not be carried through, and the next round tries again.
    func settle() async throws {
        // If the store is being moved, it is to this zone.
        try session.scope.checkZone()
        guard try session.store.read({ try ZoneClaims($0.reader) }).target != nil else { return }
        do {
            try await finishMove(to: own)
        } catch let error as ServiceError {
            try await own.begin()
            throw error
        }
    }

    /// Forgets what other zones had, a bounded number of records in a transaction, and binds the store
    /// to the new one at the end. Each step may be done again.
    private func finishMove(to target: ZoneExchange) async throws {
        let rowsMax = min(session.configuration.recordsPerPass, Self.movedRowsMax)
        let place = target.place
        repeat {
            try await fetchEvicted(before: target)
            try await target.begin()
            let total = try session.store.read { try RecordScan($0.reader).rowCount }
            var (last, done): (StoredRecordID?, Int) = (nil, 0)
            repeat {
                try session.checkCalled()
                let before = last
                let step = try await target.write {
                    try ZoneLoss($0, in: place.slot).forgetService(
                        after: before, rowsMax: rowsMax)
                }
                last = step.last
                done += step.rows
                session.scope.events.send(.moving(records: done, total: max(done, total)))
            } while last != nil
        } while try await !target.write { try ZoneMove($0).end(to: place.id.zoneName) }
    }

    /// The most rows that one transaction of a move looks at.
    private static let movedRowsMax = 2_000

    /// Takes evicted records back from the zones that the store belonged to.
    ///
    /// A replica that lags behind may not have a record, or an older version than the one that was
    /// here: these are asked for once more. What none of the zones has then is gone.
    private func fetchEvicted(before target: ZoneExchange) async throws {
        let slot = own.slot
        let (evicted, claims, owner) = try session.store.read {
            (
                try RecordScan($0.reader).evictedKeys(in: slot, limit: .max),
                try ZoneClaims($0.reader),
                try ZoneStates($0.reader).boundUser()
            )
        }
        guard !evicted.isEmpty else { return }
        try session.checkCalled()
        guard try await session.service.currentUser() == owner else {
            throw SyncError(
                .invalidConfiguration,
                "The store has \(evicted.count) evicted records, which only a zone of another user "
                    + "has. Sign in as that user and call fetchAgain for them first.")
        }
        var left = evicted.map(\.name.description)
        for takesOlder in [false, true] {
            for zone in claims.bound {
                do {
                    let source = ZoneExchange(session, .own(zone))
                    left = try await RecordFetcher(source).fetch(left, takesOlder: takesOlder).left
                } catch let error as ServiceError where error.code.scope == .zone {
                    continue
                }
            }
        }
        let missing = left
        guard !missing.isEmpty else { return }
        try await target.begin()
        try await target.write { context in
            for name in missing {
                _ = try context.marks.endEviction(of: RecordKey(RecordName(name), zone: slot))
            }
        }
    }
}
