import BackstitchCore
import BackstitchStore

extension EngineMachine {
    /// What happened.
    enum Event: Equatable, Sendable {
        // Calls of the application.

        /// The engine goes on by itself from now on.
        case start
        /// The first round of an engine that was started; with what the store knows of a failure
        /// before.
        case begin(CallID, RetryDeadline?)
        case sync(CallID)
        case request(EngineRequest, CallID)
        case catchUp(CallID)
        case waitForOperation(UInt64, CallID)
        /// The task of a call was cancelled, and the call has returned.
        case cancelled(CallID)
        /// The application decided what becomes of the records of a lost zone.
        case resumed
        case stop

        // News from outside.

        case triggered(SyncTrigger)
        case accountChanged
        case reachable(Bool)
        case timer(dueMilliseconds: Int64)
        /// An operation is not pending any more, or can't be looked at.
        case operationEnded(CallID, Answer)
        case storeClosed

        // From what runs.

        case replied(Round.ID, Reply)

        /// The call that waits for an answer to this.
        var call: CallID? {
            switch self {
            case .begin(let call, _), .sync(let call), .request(_, let call), .catchUp(let call),
                .waitForOperation(_, let call):
                call
            default: nil
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
        case answered(Answer)
        case failed(Failure)
    }

    /// What is known of the zone when an exchange begins.
    struct Zone: Equatable, Sendable {
        var limits = ServiceLimits()
        var isSetUp = true
        var needsPull = false
        var suspension: ServiceError.Code?
        var prefersLocal = false
    }

    /// What a call gets.
    enum Answer: Equatable, Sendable {
        case done
        /// What the round did.
        case report
        case count(Int)
        case progress(OperationProgress)
        case failed(Failure)
    }

    /// What has to be performed.
    enum Action: Equatable, Sendable {
        /// Take a step of a round, and hand in the reply.
        case perform(Round.ID, Round.Step)
        /// Tell the task of a round to end.
        case cancel(Round.ID)
        case answer([CallID], Answer)
        case tell(Notice)
        /// Hand in a timer event at a time, instead of the one before.
        case setTimer(dueMilliseconds: Int64)
        case endTimer
        /// Hand in saves.
        case listen
        /// Look which of the operations that calls wait for have ended.
        case lookAtOperations
        /// Store nothing any more, though a request may be under way.
        case endLease
        /// Let another process have the lease: no request is under way.
        case giveBackLease
        /// Hand in no saves any more.
        case endListening
        case endEvents
    }

    /// What events tell of rounds.
    enum Notice: Equatable, Sendable {
        case started(SyncTrigger)
        /// With the report.
        case finished
        case failed(SyncError)
    }

    /// Why a step failed.
    struct Failure: Equatable, Sendable, CustomStringConvertible {
        enum Kind: Equatable, Sendable {
            case cancelled
            /// The store is not as the step had it: the lease was lost, or the application began anew.
            case outdated
            case service(ServiceError)
            case sync(SyncError)
            case storeClosed
            case store(isFull: Bool)
        }

        let kind: Kind
        /// What calls throw.
        let error: any Error
        var description: String { "\(error)" }

        init(_ error: any Error) {
            self.error = error
            switch error {
            case is CancellationError: kind = .cancelled
            case is SyncBasis.Outdated: kind = .outdated
            case let error as ServiceError: kind = .service(error)
            case let error as SyncError: kind = .sync(error)
            case let error as StoreError where error.code == .closed: kind = .storeClosed
            default: kind = .store(isFull: (error as? StoreError)?.code == .full)
            }
        }

        static func == (one: Failure, other: Failure) -> Bool {
            one.kind == other.kind && one.description == other.description
        }

        /// The same, as a request's call throws it.
        var ofRequest: Failure {
            switch kind {
            case .outdated: Failure(standby)
            case .service(let error):
                Failure(
                    SyncError(
                        error.code.scope == .account ? .blocked : .unreachable,
                        "The service did not do it (\(error)). Nothing was changed here; try again "
                            + "later.", cause: error))
            default: self
            }
        }
    }

    // MARK: Errors of its own

    static let stopped = SyncError(.stopped, "The engine was stopped. Make another one.")

    static let closed = SyncError(
        .stopped,
        "The store was closed, and the engine with it. Open the store again and make another one.")

    static let cancelled = SyncError(
        .cancelled, "The call was cancelled, and the round ended early. The rest stays pending.")

    static let offline = SyncError(
        .offline,
        "There is no network. What is pending is kept; call connectivityChanged(isReachable:) when "
            + "it is back.")

    static let standby = standby(retryMilliseconds: nil)

    static func standby(retryMilliseconds: Int64?) -> SyncError {
        SyncError(
            .standby,
            "Another engine synchronises the store. What is saved here is pushed by it; stop it to "
                + "let this one take over.", retryMilliseconds: retryMilliseconds)
    }
}

extension EngineMachine {
    /// Traps if the machine contradicts itself, unless the build is optimised.
    func checkInvariants() { assert(violation == nil, violation ?? "") }

    /// What is wrong with the machine itself; nil if nothing is.
    var violation: String? {
        let places = asked.map(\.calls) + [Set(waits.keys)]
        var calls: [CallID] = places.flatMap(\.self)
        switch state {
        case .resting:
            if !asked.isEmpty { return "Nothing runs, and \(asked) waits." }
            if timerMilliseconds != queue.next?.dueMilliseconds {
                return "The timer is at \(timerMilliseconds as Any) for \(queue.next as Any)."
            }
        case .running(let round):
            calls += round.calls
            if round.id != rounds { return "Round \(round.id) of \(rounds) runs." }
            if timerMilliseconds != nil { return "A timer runs beside a round." }
            if round.isCancelled, !round.calls.isEmpty {
                return "A round with calls was cancelled."
            }
            if case .exchange = round.step, !round.exchange.isRunning {
                return "An exchange that has ended has a step."
            }
        case .stopped:
            if !calls.isEmpty { return "Calls \(calls) wait for an engine that has ended." }
        }
        if Set(calls).count != calls.count { return "A call waits twice: \(calls)." }
        if asked.contains(where: \.calls.isEmpty) { return "Something is asked for by no call." }
        if asked.count(where: \.purpose.isExchange) > 1 { return "Two exchanges are asked for." }
        return nil
    }
}
