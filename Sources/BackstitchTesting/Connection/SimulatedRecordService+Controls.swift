import Threading
public import BackstitchCore
import BackstitchSync

extension SimulatedRecordService {
    /// Runs after a request has arrived, before it is applied; nil for nothing.
    ///
    /// No lock is held: the hook may send requests on any connection. On this connection they run
    /// the hook again, so a hook that sends must remove itself first.
    public var beforeRequest: Hook? {
        get { state.withLock { $0.beforeRequest } }
        set { state.withLock { $0.beforeRequest = newValue } }
    }

    /// Runs after a request was applied, before it is answered; nil for nothing.
    public var beforeReply: Hook? {
        get { state.withLock { $0.beforeReply } }
        set { state.withLock { $0.beforeReply = newValue } }
    }

    /// The faults of the next requests.
    public var faultPlan: FaultPlan {
        get { state.withLock { $0.plan } }
        set { state.withLock { $0.plan = newValue } }
    }

    /// How often each kind of fault made a difference so far; kinds that never did are absent.
    public var faultCounts: [FaultKind: Int] {
        state.withLock { $0.faultCounts }
    }

    /// How many requests were sent so far, those that got lost too.
    public var requestCount: Int {
        state.withLock { $0.requestCount }
    }

    /// Adds a fault to the plan.
    public func inject(_ fault: ScriptedFault) {
        state.withLock { $0.plan.scripted.append(fault) }
    }

    /// Makes the next request of a kind fail, or the next one of any kind that the fault applies to
    /// if none is given.
    public func failNext(_ request: RequestKind? = nil, with kind: FaultKind) {
        inject(ScriptedFault(kind, on: request))
    }

    /// Makes the next request of a kind fail with a code, without being applied.
    public func failNext(
        _ request: RequestKind? = nil, with code: ServiceError.Code,
        retryAfterSeconds: Double? = nil
    ) {
        inject(ScriptedFault(.error(code), on: request, retryAfterSeconds: retryAfterSeconds))
    }

    /// Ends the scripted faults of a kind, or all of them; faults by chance go on.
    public func clearFaults(of kind: FaultKind? = nil) {
        state.withLock { state in
            state.plan.scripted.removeAll { kind == nil || $0.kind == kind }
        }
    }

    /// Ends all faults, by script and by chance, and a switch of account by fault.
    public func endFaults() {
        state.withLock { state in
            state.plan = FaultPlan()
            (state.uploadFaults, state.downloadFaults) = ([], [])
            if state.awayRequests != nil {
                state.awayRequests = nil
                state.switchUser(to: state.homeUser)
            }
        }
    }

    /// The record name of the user who is signed in; nil without a user.
    public var user: String? {
        state.withLock { $0.user }
    }

    /// Signs another user in, or the present one out.
    ///
    /// Every request but `currentUser` is then refused with `accountChanged`, until `currentUser`
    /// was asked; unannounced, requests go to the other user's zones at once. Without a user
    /// all requests are refused with `notAuthenticated`.
    public func switchUser(to user: String?, announced: Bool = true) {
        state.withLock { state in
            state.awayRequests = nil
            if announced { state.switchUser(to: user) } else { state.user = user }
        }
    }

    /// Calls a closure with the zone after each write by another device to a zone that this device
    /// has subscribed to; nil for nothing.
    ///
    /// The closure runs within the call that wrote, without a lock held. It is a hint: faults can
    /// drop it.
    public func onPoke(_ handler: (@Sendable (ZoneID) -> Void)?) {
        let device = device
        cloud.state.withLock { $0.pokeHandlers[device] = handler }
    }
}
