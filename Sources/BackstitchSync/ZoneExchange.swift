import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// One zone as an engine exchanges it. The engine's actor uses it alone.
///
/// Everything that rounds store goes through ``write(_:)``: so what is answered to a request that the
/// store has moved on from is never stored.
final class ZoneExchange {
    let session: SyncSession
    let place: ZonePlace
    let report: RoundReport
    /// The service of the zone's database.
    let service: any RecordService
    let progress = ExchangeProgress()
    /// What the service said of its limits when the exchange began.
    private(set) var limits = ServiceLimits()
    /// Whether the local version wins in it.
    private var prefersLocal = false
    /// What the next request is made from.
    private var basis: SyncPrecondition?

    /// - Parameter service: The service of the zone's database; nil for the session's own.
    init(
        _ session: SyncSession, _ place: ZonePlace, _ report: RoundReport = RoundReport(),
        service: (any RecordService)? = nil
    ) {
        self.service = service ?? session.service
        self.session = session
        self.place = place
        self.report = report
    }

    var store: Store { session.store }
    var scope: EngineContext { session.scope }
    var configuration: SyncConfiguration { session.configuration }
    var slot: UInt8 { place.slot }
    var zone: ZoneID { place.id }
    private var subscriptionID: String {
        slot == 0 ? scope.subscriptionID : SyncConfiguration.subscriptionID(of: zone.zoneName)
    }

    /// The key of a record of the zone.
    func key(_ recordName: String) -> RecordKey {
        RecordKey(RecordName(recordName), zone: slot)
    }

    /// What the store has of the zone.
    func state() throws -> ZoneState {
        try store.read { [place] in try $0.reader.zoneState(place) }
    }

    // MARK: Storing

    /// Makes the next requests from what the store has of the zone.
    ///
    /// - Throws: `SyncPrecondition.Outdated` if the engine's lease is over.
    func begin() async throws { basis = try await session.basis(on: place) }

    /// Stores what a reply told, or what was decided from it, if the store is still the one that
    /// the request was made from.
    ///
    /// - Throws: `SyncPrecondition.Outdated` if it is not, and nothing was stored.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (LogWriter) throws -> Result
    ) async throws -> Result {
        try await write(with: [], body)
    }

    /// Stores what a reply told of several zones: requests to the others go on from what is stored then.
    func write<Result: Sendable>(
        with others: [ZoneExchange], _ body: @escaping @Sendable (LogWriter) throws -> Result
    ) async throws -> Result {
        guard let basis else { throw SyncPrecondition.Outdated() }
        let others = others.filter { $0.basis != nil }
        let (result, next, kept) = try await basis.write(
            to: store, with: others.compactMap(\.basis), body)
        self.basis = next
        for (other, basis) in zip(others, kept) { other.basis = basis }
        return result
    }

    /// Changes the stored state of the zone. What changes nothing is not written.
    func change(_ change: @escaping @Sendable (inout ZoneState) -> Void) async throws {
        let before = try state()
        var after = before
        change(&after)
        guard after != before else { return }
        try await write { [place] log in
            var state = try log.reader.zoneState(place)
            change(&state)
            try log.setZoneState(state, place)
        }
    }

    /// Merges in one transaction. If the application has to decide, it is asked in between.
    func merge(
        _ body: @escaping @Sendable (RecordMerger, inout MergeResults) throws -> Void
    ) async throws -> MergeResults {
        try await ResolvedMerge(self, prefersLocal: prefersLocal).run(body)
    }

    // MARK: Reporting

    func note(_ results: MergeResults) { report.note(results, of: scope) }

    /// Reports a record that the service could not deliver or take by itself.
    func noteUndelivered(_ recordName: String, _ error: ServiceError) {
        report.noteUndelivered(key(recordName))
        // No note can stand for an impossible name.
        if RecordName(recordName).violation != nil { report.noteRejected(key(recordName), false) }
        scope.events.send(.undelivered(recordName: recordName, error))
    }

    // MARK: Preparing

    /// Notes what is exchanged from now on, and reads what is known of the zone.
    func prepare() async throws -> ZoneQueue.Prepared {
        progress.beginAgain()
        limits = await service.limits
        try await noteExchange()
        let state = try state()
        prefersLocal = state.prefersLocal == true
        var prepared = ZoneQueue.Prepared()
        prepared.slot = slot
        prepared.database = place.database
        prepared.limits = limits
        prepared.isSetUp = state.isSetUp
        prepared.needsPull = state.needsPull
        prepared.suspension = state.suspension?.code
        prepared.prefersLocal = prefersLocal
        prepared.retry = state.retry
        prepared.hasPending = try slot == 0 || store.read { try hasPending($0.reader) }
        return prepared
    }

    /// Whether something of the zone is to be pushed or looked up. Now and then the answer is yes so that the
    /// outbox's floor follows the log.
    private func hasPending(_ reader: TableReader) throws -> Bool {
        let floor = try LogHorizon(reader).outboxFloor(in: slot)
        guard try reader.log.head &- floor < Self.unlookedMax else { return true }
        if try OutboxCounter(reader).tally.counts(in: slot).pendingRecords > 0 { return true }
        return try [SyncNotes.missed, .incomplete, .undelivered, .duplicate].contains {
            try reader.meta.hasNotes($0, in: slot)
        }
    }

    /// The most operations of other zones behind the floor of one that has nothing to push.
    private static let unlookedMax: UInt64 = 10_000

    /// Remembers when the service may be asked again, or that it may be at any time.
    func store(_ deadline: RetryDeadline?, isCompleted: Bool) async throws {
        let endsPreference = isCompleted && prefersLocal
        try await change { state in
            state.retry = deadline
            if endsPreference { state.prefersLocal = nil }
        }
    }

    /// Notes which fields and entities are exchanged from now on.
    ///
    /// If these are more than before, everything is fetched once more: what was left out so far
    /// is in no later page. What another selection held back is looked for again.
    private func noteExchange() async throws {
        let (place, slot) = (place, slot)
        let old = try state()
        let fields = try store.read { $0.reader.catalog.requestedFields?.sorted() }
        let (state, fetchesAgain) = old.exchanging(fields, configuration.selection)
        let looksBack = scope.looksBack(old, in: slot)
        guard state != old || looksBack else { return }
        try await write { log in
            if fetchesAgain { try FullFetch(log, in: slot).forgetFetched() }
            if looksBack { try log.marks.setOutboxFloor(0, in: slot) }
            try log.setZoneState(state, place)
        }
        scope.lookedBack.withLock { _ = $0.insert(slot) }
    }

    // MARK: Performing

    /// Does what was decided.
    ///
    /// - Parameter machine: The decisions, with the items that were folded.
    func perform(_ action: SyncAction, _ machine: SyncMachine) async throws -> SyncEvent {
        switch action {
        case .setUp: try await setUp()
        case .fetchZoneChanges: return try await ZonePull(self).fetchZoneChanges()
        case .beginFullFetch:
            progress.beginFeeds()
            try await ZonePull(self).beginFullFetch()
        case .sweep: return try await ZonePull(self).sweep()
        case .forgetService:
            try await ZoneReset(self).forgetZone()
            progress.foldStart = 0
            progress.beginFeeds()
            scope.events.send(.zoneLost(.zoneNotFound))
        case .suspend(let code):
            scope.events.send(.zoneLost(code))
            try await change { $0.suspension = ZoneState.Suspension(code) }
        case .foldOutbox(let continues):
            return try await PushExecutor(self, machine).fold(continues: continues)
        case .push(let places, let atomic):
            return try await PushExecutor(self, machine).push(places, atomic: atomic)
        case .lookUp(let places): return try await PushExecutor(self, machine).lookUp(places)
        case .lookUpMissed(let places): try await StaleLookup(self).lookUp(places)
        case .apply(let decisions): try await PushExecutor(self, machine).apply(decisions)
        case .raiseFloor: try await raiseFloor()
        case .fetchDatabaseChanges, .dropDatabaseToken, .finish:
            preconditionFailure("It is no action of one zone.")
        }
        return .done
    }

    private func raiseFloor() async throws {
        // What waits for a file is folded again when that is up.
        guard !progress.waitsForFiles else { return }
        let (after, through) = (progress.outbox.after, progress.outbox.through)
        let (looked, slot) = (progress.floorLooked, slot)
        progress.floorLooked = try await write {
            try $0.marks.raiseOutboxFloor(from: after, to: through, looked: looked, in: slot)
        }
    }

    private func setUp() async throws {
        let user = try await session.checkUser()
        // A zone that was made before is not made again: if it is gone, it was deleted, and the pull
        // reports that.
        if try state().isSetUp { return }
        try session.checkCalled()
        // One of another user is there, or was taken away.
        if zone.ownerName == nil {
            try await service.createZone(zone)
            try session.checkCalled()
        }
        try await service.createSubscription(subscriptionID, to: zone)
        try await change { state in
            state.isSetUp = true
            state.userName = user
        }
    }
}

extension ZoneState {
    /// The state for an exchange of fields and entities; nil is all of them.
    ///
    /// - Returns: The state, and whether everything is fetched once more.
    fileprivate func exchanging(
        _ fields: [String]?, _ selection: SyncConfiguration.Selection
    ) -> (ZoneState, fetchesAgain: Bool) {
        var new = self
        new.fetchedFields = fields
        new.exchangedEntities = selection.entities?.sorted()
        new.isClosed = selection.isClosed ? true : nil
        new.holdsBack = selection.isAll ? nil : true
        let hasMoreFields = Self.isMore(new.fetchedFields, than: fetchedFields)
        let hasMore =
            hasMoreFields || Self.isMore(new.exchangedEntities, than: exchangedEntities)
            || isClosed == true && !selection.isClosed
        let fetchesAgain = hasMore && (zoneToken != nil || isFullFetch)
        if fetchesAgain {
            new.beginFullFetch()
            if hasMoreFields { new.isCompleting = true }
        }
        return (new, fetchesAgain)
    }

    /// Whether names have one that others lack; nil stands for all.
    private static func isMore(_ names: [String]?, than others: [String]?) -> Bool {
        guard let others else { return false }
        return names.map { !Set($0).isSubset(of: others) } ?? true
    }
}

extension ZoneState.Suspension {
    init?(_ code: ServiceError.Code) {
        switch code {
        case .zoneDeletedByUser: self = .zoneDeletedByUser
        case .zonePurged: self = .zonePurged
        default: return nil
        }
    }

    var code: ServiceError.Code {
        switch self {
        case .zoneDeletedByUser: .zoneDeletedByUser
        case .zonePurged: .zonePurged
        }
    }
}
