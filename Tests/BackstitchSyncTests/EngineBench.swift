import BackstitchCore
import BackstitchStore

@testable import BackstitchSync

/// A machine with what it has asked for, so that tests can reply.
struct EngineBench: Equatable {
    var machine: EngineMachine
    var now: Int64 = 1_000
    /// The round in which something was to be pushed.
    private var folded: Round.ID = 0

    init(
        poll: Int64? = nil, _ change: (inout SyncConfiguration) -> Void = { _ in }
    ) {
        var configuration = SyncConfiguration(zoneName: "Notes")
        configuration.pollMilliseconds = poll
        change(&configuration)
        machine = EngineMachine(configuration)
    }

    @discardableResult
    mutating func hand(_ event: EngineMachine.Event) -> [EngineMachine.Action] {
        machine.handle(event, now: now, random: { 0.5 })
    }

    /// Hands in the reply to the step that is under way.
    @discardableResult
    mutating func reply(_ reply: Round.Reply) -> [EngineMachine.Action] {
        hand(.replied(machine.round?.id ?? 0, reply))
    }

    @discardableResult
    mutating func fail(_ error: any Error) -> [EngineMachine.Action] {
        reply(.failed(StepFailure(error)))
    }

    /// Replies as though all went well, until a step is asked for that a closure takes, or the round ends.
    ///
    /// - Returns: What the last reply led to.
    @discardableResult
    mutating func go(
        until isEnough: (Round.Step) -> Bool = { _ in false }
    ) -> [EngineMachine.Action] {
        var actions: [EngineMachine.Action] = []
        let id = machine.round?.id
        while let round = machine.round, round.id == id, !isEnough(round.step) {
            actions = goOn()
        }
        return actions
    }

    /// Hands in what comes of the step when all goes well. The first fold of a round has one record.
    @discardableResult
    mutating func goOn() -> [EngineMachine.Action] {
        guard let round = machine.round else { return [] }
        var reply = Self.reply(to: round.step)
        if case .exchange(_, .foldOutbox) = round.step {
            if folded == round.id { reply = .exchanged(.folded([], isComplete: true)) }
            folded = round.id
        }
        return self.reply(reply)
    }

    /// What comes of a step when all goes well.
    static func reply(to step: Round.Step) -> Round.Reply {
        switch step {
        case .checkConfiguration, .settleZone, .finishReset, .storeRetry: .done
        case .takeLease: .lease(nil)
        case .prepare: .zone(isSetUp: false)
        case .request(.fetchAgain(let names)): .answered(.count(names.count))
        case .request: .answered(.done)
        case .exchange(_, let action): .exchanged(reply(to: action))
        }
    }

    private static func reply(to action: SyncAction) -> SyncEvent {
        switch action {
        case .fetchDatabaseChanges:
            .databaseChanges(zoneChanged: false, zoneEnded: nil, moreComing: false)
        case .fetchZoneChanges: .zoneChanges(moreComing: false, isFullFetch: false)
        case .foldOutbox:
            .folded([PushItem(.delete(recordName: "a", changeTag: "1"))], isComplete: true)
        case .push(let items, _): .pushed(items.map { _ in .deleted })
        case .lookUp(let items): .lookedUp(items.map { _ in .notFound })
        case .setUp, .dropDatabaseToken, .beginFullFetch, .sweep, .forgetService, .suspend,
            .lookUpMissed, .apply, .raiseFloor, .finish:
            .done
        }
    }
}

extension Round.Step {
    var isExchange: Bool { if case .exchange = self { true } else { false } }
    var isPush: Bool { if case .exchange(_, .push) = self { true } else { false } }
    var isFetch: Bool { self == .exchange(0, .fetchDatabaseChanges) }
    var isRequest: Bool { if case .request = self { true } else { false } }
    var isStoring: Bool { if case .storeRetry = self { true } else { false } }
}

extension Round.Reply {
    /// What is known of the store's own zone.
    static func zone(
        isSetUp: Bool = true, needsPull: Bool = false, suspension: ServiceError.Code? = nil,
        prefersLocal: Bool = false
    ) -> Round.Reply {
        var zone = ZoneQueue.Prepared()
        zone.isSetUp = isSetUp
        zone.needsPull = needsPull
        zone.suspension = suspension
        zone.prefersLocal = prefersLocal
        return .prepared([zone])
    }
}

extension [EngineMachine.Action] {
    /// The calls that are answered.
    var answered: [EngineMachine.CallID] {
        flatMap { action -> [EngineMachine.CallID] in
            if case .answer(let calls, _) = action { calls } else { [] }
        }
    }

    /// The steps that are asked for.
    var steps: [Round.Step] {
        compactMap { if case .perform(_, let step) = $0 { step } else { nil } }
    }

    /// The kinds of the errors that calls are answered with.
    var failures: [StepFailure.Kind] {
        compactMap { if case .answer(_, .failed(let failure)) = $0 { failure.kind } else { nil } }
    }

    var codes: [SyncError.Code] {
        failures.compactMap { if case .sync(let error) = $0 { error.code } else { nil } }
    }
}
