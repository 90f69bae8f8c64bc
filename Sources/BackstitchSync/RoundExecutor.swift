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

    init(_ session: SyncSession) {
        self.session = session
        own = ZoneExchange(session, session.scope.own, report)
    }

    /// When a record is to be looked up that the service could not deliver; nil if none is left.
    var dueMilliseconds: Int64? { own.progress.dueMilliseconds }

    /// Forgets what was read, and gives its memory back. The report stays.
    func beginAgain() {
        report.beginAgain()
        own.progress.beginAgain()
    }

    /// Takes a step of a round.
    ///
    /// - Parameter zones: What is decided for the zones.
    func perform(
        _ step: Round.Step, of round: Round, _ zones: ZoneQueue
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
                return .prepared([try await own.prepare()])
            case .exchange(let slot, let action):
                return .exchanged(try await own.perform(action, zones.machine(of: slot)))
            case .request(let request):
                return .answered(try await perform(request))
            case .storeRetry(_, let deadline, let conclusion):
                try await own.store(deadline, isCompleted: conclusion == .completed)
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
