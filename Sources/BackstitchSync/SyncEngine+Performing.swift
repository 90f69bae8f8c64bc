import BackstitchCore
import BackstitchLog
import BackstitchStore

extension SyncEngine {
    /// Takes a step of a round, as the machine decided.
    func perform(_ step: Round.Step) async -> EngineMachine.Reply {
        do {
            try checkGoesOn()
            switch step {
            case .checkConfiguration:
                if case .exchange(let trigger)? = machine.round?.purpose {
                    progress = ExchangeProgress(trigger)
                }
                try checkConfiguration()
                return .done
            case .takeLease:
                guard try await takeTurn() else { return .leaseRefused }
                return .lease(try storedRetry())
            case .settleZone:
                try await settleZone()
                return .done
            case .finishReset:
                try await finishRemoteReset()
                return .done
            case .prepare:
                return .prepared(try await prepare())
            case .exchange(let action):
                return .exchanged(try await perform(action))
            case .request(let request):
                return .answered(try await perform(request))
            case .storeRetry(let deadline, let conclusion):
                let endsPreference = conclusion == .completed && machine.round?.prefersLocal == true
                try await change { state in
                    state.retry = deadline
                    if endsPreference { state.prefersLocal = nil }
                }
                return .done
            }
        } catch {
            return .failed(EngineMachine.Failure(error))
        }
    }

    private func perform(_ request: EngineRequest) async throws -> EngineMachine.Answer {
        switch request {
        case .fetchAgain(let names): return .count(try await fetchAgain(names))
        case .move(let zone, let adoptsUser): try await takeStore(to: zone, adoptsUser: adoptsUser)
        case .destroyZone: try await deleteZoneForGood()
        case .resetLocal(let keepsUnsynced): try await eraseRecords(keepsUnsynced: keepsUnsynced)
        case .resetRemote: try await beginRemoteReset()
        case .resync(let source): try await beginResync(from: source)
        }
        return .done
    }

    /// What the store knows of failures before this engine; nil if there was none, or the machine knows.
    func storedRetry() throws -> RetryDeadline? {
        guard machine.backoff == nil else { return nil }
        return try store.read { [zoneName] in try $0.reader.zoneState(zoneName).retry }
    }

    private func prepare() async throws -> EngineMachine.Zone {
        progress = progress.begunAgain
        let limits = await service.limits
        try await noteExchange()
        let state = try store.read { [zoneName] in try $0.reader.zoneState(zoneName) }
        return EngineMachine.Zone(
            limits: limits, isSetUp: state.isSetUp, needsPull: state.needsPull,
            suspension: state.suspension?.code, prefersLocal: state.prefersLocal == true)
    }

    private func perform(_ action: SyncAction) async throws -> SyncEvent {
        switch action {
        case .setUp: return try await setUp()
        case .fetchDatabaseChanges: return try await fetchDatabaseChanges()
        case .fetchZoneChanges: return try await fetchZoneChanges()
        case .dropDatabaseToken:
            return try await change { state in
                state.databaseToken = nil
                state.needsPull = true
            }
        case .beginFullFetch:
            return try await beginFullFetch()
        case .sweep: return try await sweep()
        case .forgetService: return try await forgetService()
        case .suspend(let code):
            hub.send(.zoneLost(code))
            return try await change { $0.suspension = ZoneState.Suspension(code) }
        case .foldOutbox(let continues): return try await fold(continues: continues)
        case .push(let indexes, let atomic):
            let modifications = sent(indexes)
            setInFlight(modifications.map(\.recordName))
            defer { setInFlight([]) }
            return .pushed(
                try await service.modifyRecords(modifications, in: zone, atomic: atomic))
        case .lookUp(let indexes):
            let names = sent(indexes).map(\.recordName)
            return .lookedUp(try await service.lookUpRecords(names, in: zone))
        case .lookUpMissed(let places): return try await lookUpMissed(places)
        case .apply(let decisions): return try await apply(decisions)
        case .raiseFloor:
            let through = progress.outbox.through
            try await write { try $0.raiseOutboxFloor(to: through) }
            return .done
        case .finish:
            preconditionFailure("A finished round has no action left.")
        }
    }

    /// Items as they are sent, without a hold on the machine.
    private func sent(_ indexes: [Int]) -> [RecordModification] {
        let exchange = machine.exchange
        return indexes.map { exchange.item($0).sent }
    }

    // MARK: Set-up

    private func setUp() async throws -> SyncEvent {
        let user = try await checkUser()
        let isSetUp = try store.read { [zoneName] in
            try $0.reader.zoneState(zoneName).isSetUp
        }
        if isSetUp {
            // The zone was made before. If it is gone, somebody wanted that, and the pull tells.
            return .done
        }
        try checkCalled()
        try await service.createZone(zone)
        try checkCalled()
        try await service.createSubscription(subscriptionID, to: zone)
        return try await change { state in
            state.isSetUp = true
            state.userName = user
        }
    }

    /// Makes sure that the service's user is the one that the store belongs to.
    ///
    /// - Returns: the user's name.
    func checkUser() async throws -> String {
        let user = try await service.currentUser()
        if let known = try store.read({ try $0.reader.boundUser() }), known != user {
            throw ServiceError(
                .accountChanged,
                "The store belongs to another user. Sign in as that user, or open another "
                    + "store for this one.")
        }
        return user
    }

    /// Changes the stored state of the zone. What changes nothing is not written.
    @discardableResult
    func change(
        _ change: @escaping @Sendable (inout ZoneState) -> Void
    ) async throws -> SyncEvent {
        let name = zoneName
        let before = try store.read { try $0.reader.zoneState(name) }
        var after = before
        change(&after)
        guard after != before else { return .done }
        try await write { context in
            var state = try context.reader.zoneState(name)
            change(&state)
            try context.setZoneState(state, name)
        }
        return .done
    }

    private func forgetService() async throws -> SyncEvent {
        try await forgetZone()
        progress.foldStart = 0
        hub.send(.zoneLost(.zoneNotFound))
        return .done
    }

    /// Forgets what was known of the zone: it is made anew, and everything is uploaded to it.
    func forgetZone() async throws {
        let name = zoneName
        try await write { context in
            var state = ZoneState()
            let old = try context.reader.zoneState(name)
            state.userName = old.userName
            state.retry = old.retry
            state.prefersLocal = old.prefersLocal
            // What is exchanged stays as this round noted it.
            state.fetchedFields = old.fetchedFields
            state.exchangedEntities = old.exchangedEntities
            state.holdsBack = old.holdsBack
            try ZoneLoss(context).forgetService()
            try FullFetch(context).forgetFetched()
            try context.setZoneState(state, name)
        }
    }

    // MARK: Pull

    private func fetchDatabaseChanges() async throws -> SyncEvent {
        let name = zoneName
        let zone = zone
        let token = try store.read { try $0.reader.zoneState(name).databaseToken }
        let page = try await service.databaseChanges(since: token)
        let isChanged = page.changedZones.contains(zone)
        let ended = page.endedZones[zone]
        if isChanged { progress.isZoneChanged = true }
        try await change { state in
            state.databaseToken = page.token
            // The end is told once: should it be forgotten in a crash, the pull meets it again.
            if isChanged || ended != nil { state.needsPull = true }
        }
        return .databaseChanges(
            zoneChanged: isChanged, zoneEnded: ended.map(\.code), moreComing: page.moreComing)
    }

    private func fetchZoneChanges() async throws -> SyncEvent {
        let name = zoneName
        let state = try store.read { try $0.reader.zoneState(name) }
        let page = try await service.zoneChanges(
            in: zone, since: state.zoneToken, limit: machine.exchange.limits.recordsPerPage,
            fields: state.fetchedFields.map(Set.init))
        let (selection, isZoneChanged) = (configuration.selection, progress.isZoneChanged)
        let results = try await merge { merger, results in
            let log = merger.log
            var state = try log.reader.zoneState(name)
            let selection = try selection.bound(to: log.reader)
            try log.numberTables(named: Set(page.records.map(\.recordType)))
            for record in page.records {
                if state.isFullFetch { try FullFetch(log).markSeen(record.recordName) }
                guard selection.pulls(log.catalog.table(named: record.recordType)) else { continue }
                if state.isCompleting == true { try merger.complete(record) }
                results.note(
                    try merger.merge(record, isAuthoritative: state.isFullFetch),
                    RecordName(record.recordName), record.recordType)
            }
            for deletion in page.deletions {
                let table = deletion.recordType.flatMap { log.catalog.table(named: $0) }
                guard selection.pulls(table) else { continue }
                let key = RecordKey(RecordName(deletion.recordName))
                results.note(
                    try merger.mergeAbsent(key, recordType: deletion.recordType), key.name,
                    deletion.recordType ?? "")
            }
            try log.releaseReferrers(to: Set(page.records.map { RecordName($0.recordName) }))
            if !page.moreComing, !state.isFullFetch { try results.mergeDuplicates(merger) }
            // A page that tells nothing of the change that there is comes from a replica behind.
            let isBehind = isZoneChanged && state.zoneToken == page.token
            state.zoneToken = page.token
            state.needsPull =
                page.moreComing || state.isFullFetch || isBehind || results.leavesDuplicates
            try log.setZoneState(state, name)
        }
        progress.report.pulledRecords += page.records.count + page.deletions.count
        progress.report.echoedRecords += results.unchanged
        try await noteAndMergeDuplicates(results)
        return .zoneChanges(moreComing: page.moreComing, isFullFetch: state.isFullFetch)
    }

    func beginFullFetch() async throws -> SyncEvent {
        let name = zoneName
        try await write { context in
            var state = try context.reader.zoneState(name)
            state.zoneToken = nil
            state.needsPull = true
            state.isFullFetch = true
            try FullFetch(context).forgetFetched()
            try context.setZoneState(state, name)
        }
        return .done
    }

    private func sweep() async throws -> SyncEvent {
        let name = zoneName
        let results = try await merge { merger, results in
            for swept in try FullFetch(merger.log).sweep(merger) {
                results.note(swept.result, swept.key.name, swept.entityName)
            }
            try results.mergeDuplicates(merger)
            var state = try merger.log.reader.zoneState(name)
            state.isFullFetch = false
            state.isCompleting = nil
            // A replica may have been behind, which the first token can't tell: the next round asks.
            state.needsPull = true
            try merger.log.setZoneState(state, name)
        }
        try await noteAndMergeDuplicates(results)
        return .done
    }

    /// Adds what a transaction at the end of a pull did, and looks at the duplicates that it left.
    private func noteAndMergeDuplicates(_ results: MergeResults) async throws {
        note(results)
        guard results.leavesDuplicates else { return }
        let more = try await merge { merger, results in try results.mergeDuplicates(merger) }
        try await noteAndMergeDuplicates(more)
    }

    /// Adds what a transaction did to the report, and tells of it.
    func note(_ results: MergeResults) {
        progress.report.changes.add(results.changes)
        progress.report.conflicts += results.conflicts.count
        for sequence in results.conflicts {
            // A journal that can't be read is told by whoever reads it.
            guard let conflict = try? store.read({ try $0.reader.conflict(at: sequence) })
            else { continue }
            hub.send(.conflict(conflict))
        }
        for rejected in results.rejected {
            hub.send(.rejected(recordName: rejected.name, reason: rejected.reason))
        }
        progress.report.parkedRecords += results.parked.count
        for record in results.parked { hub.send(.parked(record)) }
        hub.send(
            .progress(
                pulledRecords: progress.report.pulledRecords,
                pushedRecords: progress.report.pushedRecords,
                pushTotal: progress.pushTotal))
        lookAtOperations()
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

extension DatabaseChangesPage.ZoneEnd {
    /// The failure that calls to the zone would meet.
    var code: ServiceError.Code {
        switch self {
        case .deleted: .zoneNotFound
        case .purged: .zonePurged
        case .encryptedDataReset: .encryptedDataReset
        }
    }
}
