import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// Takes the steps of rounds, as the machine decided them.
final class RoundExecutor {
    let leased: LeasedStore
    /// What the exchange that runs, or the last one, has read and done.
    private(set) var progress = ExchangeProgress(.manual)

    init(_ leased: LeasedStore) { self.leased = leased }

    /// Takes a step of a round.
    func perform(_ step: Round.Step, of round: Round) async -> Round.Reply {
        do {
            switch step {
            case .checkConfiguration:
                if case .exchange(let trigger) = round.purpose {
                    progress = ExchangeProgress(trigger)
                }
                try leased.scope.checkConfiguration()
                return .done
            case .takeLease:
                guard try await leased.takeLease() else { return .leaseRefused }
                return .lease(try leased.scope.zoneState().retry)
            case .settleZone:
                try await ZoneMover(leased).settle()
                return .done
            case .finishReset:
                try await ZoneReset(leased).finishRemote()
                return .done
            case .prepare:
                return .prepared(try await prepare())
            case .exchange(let action):
                return .exchanged(try await perform(action, of: round))
            case .request(let request):
                return .answered(try await perform(request))
            case .storeRetry(let deadline, let conclusion):
                let endsPreference = conclusion == .completed && round.prefersLocal
                try await leased.change { state in
                    state.retry = deadline
                    if endsPreference { state.prefersLocal = nil }
                }
                return .done
            }
        } catch {
            return .failed(StepFailure(error))
        }
    }

    private func perform(_ request: EngineRequest) async throws -> EngineMachine.Answer {
        let reset = ZoneReset(leased)
        switch request {
        case .fetchAgain(let names):
            return .count(try await RecordFetcher(leased).fetchAgain(names))
        case .move(let zone, let adoptsUser):
            try await ZoneMover(leased).move(to: zone, adoptsUser: adoptsUser)
        case .destroyZone: try await reset.deleteZoneForGood()
        case .resetLocal(let keepsUnsynced):
            try await reset.eraseRecords(keepsUnsynced: keepsUnsynced)
        case .resetRemote: try await reset.beginRemote()
        case .resync(let source): try await reset.beginResync(from: source)
        }
        return .done
    }

    private func prepare() async throws -> Round.Zone {
        progress.beginAgain()
        let limits = await leased.service.limits
        try await noteExchange()
        let state = try leased.scope.zoneState()
        return Round.Zone(
            limits: limits, isSetUp: state.isSetUp, needsPull: state.needsPull,
            suspension: state.suspension?.code, prefersLocal: state.prefersLocal == true)
    }

    /// Notes which fields and entities are exchanged from now on.
    ///
    /// If these are more than before, everything is fetched once more: what was left out so far
    /// is in no later page. What another selection held back is looked for again.
    private func noteExchange() async throws {
        let (scope, name, slot) = (leased.scope, leased.zoneName, leased.scope.slot)
        let old = try scope.zoneState()
        let fields = try leased.store.read { $0.reader.catalog.requestedFields?.sorted() }
        let (state, fetchesAgain) = old.exchanging(fields, scope.configuration.selection)
        let looksBack = scope.looksBack(old)
        guard state != old || looksBack else { return }
        try await leased.write { log in
            if fetchesAgain { try FullFetch(log, in: slot).forgetFetched() }
            if looksBack { try log.marks.setOutboxFloor(0, in: slot) }
            try log.setZoneState(state, name)
        }
        scope.hasLookedBack.withLock { $0 = true }
    }

    // MARK: Exchanges

    private func perform(_ action: SyncAction, of round: Round) async throws -> SyncEvent {
        let work = ExchangeWork(leased: leased, progress: progress, round: round)
        switch action {
        case .setUp: try await setUp()
        case .fetchDatabaseChanges: return try await ZonePull(work).fetchDatabaseChanges()
        case .fetchZoneChanges: return try await ZonePull(work).fetchZoneChanges()
        case .dropDatabaseToken:
            progress.beginFeeds()
            try await leased.change { state in
                state.databaseToken = nil
                state.needsPull = true
            }
        case .beginFullFetch:
            progress.beginFeeds()
            try await ZonePull(work).beginFullFetch()
        case .sweep: return try await ZonePull(work).sweep()
        case .forgetService:
            try await ZoneReset(leased).forgetZone()
            progress.foldStart = 0
            progress.beginFeeds()
            leased.scope.events.send(.zoneLost(.zoneNotFound))
        case .suspend(let code):
            leased.scope.events.send(.zoneLost(code))
            try await leased.change { $0.suspension = ZoneState.Suspension(code) }
        case .foldOutbox(let continues):
            return try await PushExecutor(work).fold(continues: continues)
        case .push(let places, let atomic):
            return try await PushExecutor(work).push(places, atomic: atomic)
        case .lookUp(let places): return try await PushExecutor(work).lookUp(places)
        case .lookUpMissed(let places): try await StaleLookup(work).lookUp(places)
        case .apply(let decisions): try await PushExecutor(work).apply(decisions)
        case .raiseFloor:
            // What waits for a file is folded again when that is up.
            guard progress.waiting.isEmpty else { break }
            let (after, through) = (progress.outbox.after, progress.outbox.through)
            let (looked, slot) = (progress.floorLooked, leased.scope.slot)
            progress.floorLooked = try await leased.write {
                try $0.marks.raiseOutboxFloor(
                    from: after, to: through, looked: looked, in: slot)
            }
        case .finish:
            preconditionFailure("A finished round has no action left.")
        }
        return .done
    }

    private func setUp() async throws {
        let user = try await leased.checkUser()
        // A zone that was made before is not made again: if it is gone, it was deleted, and the pull
        // reports that.
        if try leased.scope.zoneState().isSetUp { return }
        try leased.checkCalled()
        try await leased.service.createZone(leased.scope.zone)
        try leased.checkCalled()
        try await leased.service.createSubscription(
            leased.scope.subscriptionID, to: leased.scope.zone)
        try await leased.change { state in
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
