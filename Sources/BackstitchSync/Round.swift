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

        var isExchange: Bool { trigger != nil }

        /// The trigger of an exchange.
        var trigger: SyncTrigger? {
            if case .exchange(let trigger) = self { trigger } else { nil }
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
        /// Note what is exchanged from now on, and read what is known of the zones.
        case prepare
        /// What was decided for the zone with a slot.
        case exchange(UInt8, SyncAction)
        case request(EngineRequest)
        /// Remember when the service may be asked about a zone again, or that it may be at any time.
        case storeRetry(UInt8, RetryDeadline?, Conclusion)

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
        case prepared([ZoneQueue.Prepared])
        /// With the slots of other zones of which the database's list said that they changed.
        case exchanged(SyncEvent, changed: Set<UInt8> = [])
        case answered(EngineMachine.Answer)
        case failed(StepFailure)
    }

    /// How an exchange ended, of one zone or all, as its calls and the events tell it.
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
    /// What the status shows; nil before the first request and after the last.
    var activity: SyncStatus?
    /// The failure of the first zone that could not be exchanged.
    var failure: SyncError?
    /// Whether no call waits for it any more, so that it ends early.
    var isCancelled = false
    /// Whether it began again, because the application began anew meanwhile.
    var isRepeated = false

    init(id: ID, purpose: Purpose, calls: Set<EngineMachine.CallID>) {
        self.id = id
        self.purpose = purpose
        self.calls = calls
    }

    /// What is wrong with it; nil if nothing is.
    func violation(_ zones: ZoneQueue) -> String? {
        if isCancelled, !calls.isEmpty { return "A round with calls was cancelled." }
        if case .exchange(let slot, _) = step, !zones.isRunning(slot) {
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
