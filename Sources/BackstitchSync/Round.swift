import BackstitchCore
import BackstitchStore

/// Something that an engine runs under the lease, by its steps.
struct Round: Equatable, Sendable {
    /// The number among all that the engine has run.
    typealias ID = Int

    /// What a round is run for.
    enum Purpose: Equatable, Sendable {
        /// To pull what the service has, and push what it lacks.
        case exchange(SyncTrigger)
        /// For a call that must not meet an exchange.
        case request(EngineRequest)

        var isExchange: Bool {
            if case .exchange = self { true } else { false }
        }
    }

    /// What is performed, and replied to.
    ///
    /// | step | replies besides failures |
    /// |---|---|
    /// | `takeLease` | `lease`, `leaseRefused` |
    /// | `prepare` | `prepared` |
    /// | `exchange` | `exchanged` |
    /// | `request` | `answered` |
    /// | the others | `done` |
    enum Step: Equatable, Sendable {
        /// Check the configuration by itself and against the store.
        case checkConfiguration
        /// Take the lease, unless the engine has it, and base what follows on the store as it is.
        case takeLease
        /// Check that the store belongs to the zone, and finish a move to it that was begun.
        case settleZone
        /// Finish a reset of the zone that was begun.
        case finishReset
        /// Note what is exchanged from now on, and read what is known of the zone.
        case prepare
        /// What the exchange's own machine decided.
        case exchange(SyncAction)
        case request(EngineRequest)
        /// Remember when the service may be asked again, or that it may be at any time.
        case storeRetry(RetryDeadline?, Conclusion)

        /// Whether it comes before anything is exchanged.
        var isPreparation: Bool {
            switch self {
            case .checkConfiguration, .takeLease, .settleZone, .finishReset, .prepare: true
            case .exchange, .request, .storeRetry: false
            }
        }
    }

    /// What came of a step.
    enum Reply: Equatable, Sendable {
        case done
        /// The engine has the lease; with what the store knows of a failure before.
        case lease(RetryDeadline?)
        case leaseRefused
        case prepared(Zone)
        case exchanged(SyncEvent)
        case answered(EngineMachine.Answer)
        case failed(StepFailure)
    }

    /// What is known of the zone when an exchange begins.
    struct Zone: Equatable, Sendable {
        var limits = ServiceLimits()
        var isSetUp = true
        var needsPull = false
        var suspension: ServiceError.Code?
        var prefersLocal = false
    }

    /// How an exchange ended, as its calls and the events tell it.
    enum Conclusion: Equatable, Sendable {
        case completed
        case failed(SyncError)
    }

    let id: ID
    let purpose: Purpose
    /// The calls that it is run for; none if a trigger led to it.
    var calls: Set<EngineMachine.CallID>
    /// The trigger that an exchange covers.
    var covered: TriggerQueue.Entry?
    /// What is being performed.
    var step = Step.takeLease
    /// What the exchange decides.
    var exchange: SyncMachine
    /// What the status shows; nil before the first request and after the last.
    var activity: SyncStatus?
    /// Whether the local version wins in it.
    var prefersLocal = false
    /// Whether no call waits for it any more, so that it ends early.
    var isCancelled = false
    /// Whether it began again, because the application began anew meanwhile.
    var isRepeated = false

    init(
        id: ID, purpose: Purpose, calls: Set<EngineMachine.CallID>, exchange: SyncMachine
    ) {
        self.id = id
        self.purpose = purpose
        self.calls = calls
        self.exchange = exchange
    }

    /// What is wrong with it; nil if nothing is.
    var violation: String? {
        if isCancelled, !calls.isEmpty { return "A round with calls was cancelled." }
        if case .exchange = step, !exchange.isRunning {
            return "An exchange that has ended has a step."
        }
        return nil
    }
}

/// What a call asks for that must not meet an exchange.
enum EngineRequest: Hashable, Sendable {
    /// Evicted records, by name.
    case fetchAgain([String])
    case move(to: String, adoptsUser: Bool)
    case destroyZone
    case resetLocal(keepsUnsynced: Bool)
    case resetRemote
    case resync(from: ResyncSource)
}
