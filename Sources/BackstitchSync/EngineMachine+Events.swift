import BackstitchCore
import BackstitchStore

extension EngineMachine {
    /// What happened.
    enum Event: Equatable, Sendable {
        // Calls of the application.

        /// The engine begins rounds by itself from now on.
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
        /// A round left something to be done at a time. After a failure the next one comes at its own.
        case scheduled(dueMilliseconds: Int64)
        /// An operation is not pending any more, or can't be looked at.
        case operationEnded(CallID, Answer)
        case storeClosed

        // From what runs.

        case replied(Round.ID, Round.Reply)

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

    /// What a call gets.
    enum Answer: Equatable, Sendable {
        case done
        /// What the round did.
        case report
        case count(Int)
        case progress(OperationProgress)
        case failed(StepFailure)
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
}

extension EngineMachine {
    /// Traps if the machine contradicts itself, unless the build is optimised.
    func checkInvariants() { assert(violation == nil, violation ?? "") }

    /// What is wrong with the machine itself; nil if nothing is.
    var violation: String? {
        var calls = waiting.all
        switch state {
        case .resting:
            if !waiting.asked.isEmpty { return "Nothing runs, and \(waiting.asked) waits." }
            if timerMilliseconds != queue.next?.dueMilliseconds {
                return "The timer is at \(timerMilliseconds as Any) for \(queue.next as Any)."
            }
        case .running(let round):
            calls += round.calls
            if round.id != rounds { return "Round \(round.id) of \(rounds) runs." }
            if timerMilliseconds != nil { return "A timer runs beside a round." }
            if let violation = round.violation(zones) { return violation }
        case .stopped:
            if !calls.isEmpty { return "Calls \(calls) wait for an engine that has ended." }
        }
        if Set(calls).count != calls.count { return "A call waits twice: \(calls)." }
        return waiting.violation
    }
}
