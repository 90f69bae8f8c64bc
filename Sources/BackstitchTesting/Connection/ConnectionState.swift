import BackstitchCore

/// What a connection knows of itself; guarded by its lock.
struct ConnectionState: Sendable {
    /// Who is signed in.
    var user: String?
    /// Whether requests are refused with `accountChanged` until the client asks who the user is.
    var isChangeUnread = false
    /// Who is signed in again when a switch by fault ends.
    var homeUser: String?
    /// How many requests a switch by fault still lasts for; nil if there is none.
    var awayRequests: Int?
    var requestCount = 0
    var plan = FaultPlan()
    /// What the next transfers of files meet, one each.
    var uploadFaults: [TransferFault] = []
    var downloadFaults: [TransferFault] = []
    var faultCounts: [FaultKind: Int] = [:]
    var beforeRequest: SimulatedRecordService.Hook?
    var beforeReply: SimulatedRecordService.Hook?

    init(user: String?) {
        self.user = user
    }

    /// Signs a user in or out, and lets the next request tell.
    mutating func switchUser(to newUser: String?) {
        isChangeUnread = isChangeUnread || newUser != user
        user = newUser
    }

    /// Counts the requests of a switch by fault, and ends it.
    mutating func passAwayRequest() {
        guard let left = awayRequests else { return }
        awayRequests = left > 0 ? left - 1 : nil
        if left == 0 { switchUser(to: homeUser) }
    }

    /// Signs another user in for some requests.
    mutating func goAway() {
        guard awayRequests == nil else { return }
        homeUser = user
        awayRequests = plan.accountSwitchRequests
        switchUser(to: (user ?? "nobody") + "-other")
    }

    mutating func count(_ injected: [FaultKind]) {
        for kind in injected { faultCounts[kind, default: 0] += 1 }
    }
}
