import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// Takes the steps of rounds, as the machine decided them.
final class RoundExecutor {
    let session: SyncSession
    /// What the exchange that runs, or the last one, has done.
    let report = RoundReport()
    /// The store's own zone.
    private var own: ZoneExchange
    /// The other zones of the round, in the order of their slots.
    private var others: [ZoneExchange] = []
    /// The zone that had the last turn.
    private var slot: UInt8 = 0

    init(_ session: SyncSession) {
        self.session = session
        own = ZoneExchange(session, session.scope.own, report)
    }

    /// When a record is to be looked up that the service could not deliver; nil if none is left.
    var dueMilliseconds: Int64? { zones.compactMap(\.progress.dueMilliseconds).min() }

    private var zones: [ZoneExchange] { [own] + others }

    private func zone(_ slot: UInt8) -> ZoneExchange {
        guard let zone = zones.first(where: { $0.slot == slot }) else {
            preconditionFailure("The zone \(slot) is not in the round.")
        }
        return zone
    }

    /// Forgets what was read, and gives its memory back. The report stays.
    func beginAgain() {
        report.beginAgain()
        for zone in zones { zone.progress.beginAgain() }
    }

    /// Takes a step of a round.
    ///
    /// - Parameter queue: What is decided for the zones.
    func perform(
        _ step: Round.Step, of round: Round, _ queue: ZoneQueue
    ) async -> Round.Reply {
        do {
            switch step {
            case .checkConfiguration:
                if case .exchange(let trigger) = round.purpose { report.begin(trigger) }
                try session.scope.checkConfiguration()
                return .done
            case .takeLease:
                guard try await takeLease() else { return .leaseRefused }
                return .lease(try own.state().retry)
            case .settleZone:
                try await ZoneMover(own).settle()
                return .done
            case .finishReset:
                try await ZoneReset(own).finishRemote()
                return .done
            case .prepare:
                report.beginAgain()
                return .prepared(try await prepare())
            case .exchange(let slot, let action):
                let (event, changed) = try await perform(action, of: slot, queue)
                return .exchanged(event, changed: changed)
            case .request(let request):
                return .answered(try await perform(request))
            case .storeRetry(let slot, let deadline, let conclusion):
                try await zone(slot).store(deadline, isCompleted: conclusion == .completed)
                return .done
            }
        } catch {
            return .failed(StepFailure(error))
        }
    }

    /// Takes the engine's lease if it has none, and looks at what the next requests are made from.
    ///
    /// - Returns: Whether this engine may exchange.
    private func takeLease() async throws -> Bool {
        guard try session.takeLease() else { return false }
        let place = session.scope.own
        // The records may have been moved since.
        if own.place != place { own = ZoneExchange(session, place, report) }
        do {
            try await own.begin()
            session.scope.recorder.withLock { $0.takeLease(zone: place.id.zoneName) }
            return true
        } catch is SyncPrecondition.Outdated {
            session.giveBackLease()
            return false
        }
    }

    /// Reads which zones the store has, and what is known of them. Zones of a database that the service lacks are
    /// left out, and all but the store's own if the engine has the service of another database than the private one.
    private func prepare() async throws -> [ZoneQueue.Prepared] {
        let places = try session.store.read { $0.reader.catalog.catalog.places }
        let (scope, service) = (session.scope, session.service)
        others =
            service.scope != .private
            ? []
            : places.compactMap { place in
                guard let service = try? scope.service(for: place, service) else { return nil }
                return ZoneExchange(session, place, report, service: service)
            }
        for other in others { try await other.begin() }
        var prepared: [ZoneQueue.Prepared] = []
        for zone in zones { prepared.append(try await zone.prepare()) }
        return prepared
    }

    private func perform(
        _ action: SyncAction, of slot: UInt8, _ queue: ZoneQueue
    ) async throws -> (SyncEvent, changed: Set<UInt8>) {
        if slot != self.slot {
            // Nothing of a pass is needed when a turn ends, and two passes are never held at once.
            zones.first { $0.slot == self.slot }?.progress.dropPass()
            self.slot = slot
        }
        let zone = zone(slot)
        switch action {
        case .fetchDatabaseChanges: return try await DatabaseList(zone, zones).fetch()
        case .dropDatabaseToken: return (.done, try await DatabaseList(zone, zones).begin())
        default: return (try await zone.perform(action, queue.machine(of: slot)), [])
        }
    }

    private func perform(_ request: EngineRequest) async throws -> EngineMachine.Answer {
        let reset = ZoneReset(own)
        switch request {
        case .fetchAgain(let names):
            return .count(try await RecordFetcher(own).fetchAgain(names))
        case .move(let zone, let adoptsUser):
            try await ZoneMover(own).move(to: zone, adoptsUser: adoptsUser)
        case .destroyZone: try await reset.deleteZoneForGood()
        case .resetLocal(let keepsUnsynced):
            try await reset.eraseRecords(keepsUnsynced: keepsUnsynced)
        case .resetRemote: try await reset.beginRemote()
        case .resync(let source): try await reset.beginResync(from: source)
        }
        return .done
    }
}
