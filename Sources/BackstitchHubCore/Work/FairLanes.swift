/// Jobs of many clients in two queues, each with turns of its own. They wait for places that both share.
struct FairLanes<Job> {
    private struct Client {
        /// How many of its jobs wait in both.
        var waiting = 0
        let isAnonymous: Bool
    }

    private(set) var pages = FairQueue<Job>()
    private(set) var scans = FairQueue<Job>()
    /// Those of which jobs wait.
    private var clients: [String: Client] = [:]
    /// Whether a stranger's page had the last turn that a user's scan could have had.
    private var hadStranger = false
    private var userSizes = WaitingSizes()
    private var strangerSizes = WaitingSizes()

    /// How many jobs wait.
    var count: Int { pages.count + scans.count }

    /// How many jobs of a client wait.
    func waitingCount(of client: String) -> Int { clients[client]?.waiting ?? 0 }

    /// As ``FairQueue/add(_:of:isAnonymous:)``.
    mutating func add(
        _ job: Job, to lane: WorkPool.Lane, of name: String, isAnonymous: Bool = false
    ) {
        switch lane {
        case .page: pages.add(job, of: name, isAnonymous: isAnonymous)
        case .scan: scans.add(job, of: name, isAnonymous: isAnonymous)
        }
        recount(name, isAnonymous)
    }

    /// Takes the job whose turn it is: a page, or a scan if no page waits.
    ///
    /// Scans of clients that are signed in have every second of the turns that come to strangers' pages.
    ///
    /// - Parameter takesScans: Whether a scan may be taken.
    /// - Complexity: O(log *n*) in the clients that wait.
    mutating func next(
        takesScans: Bool
    ) -> (lane: WorkPool.Lane, client: String, job: Job)? {
        let isContested = takesScans && scans.hasUsers && pages.isTurnOfStranger
        let isOfUser = isContested && hadStranger
        if isContested { hadStranger.toggle() }
        let lane: WorkPool.Lane = isOfUser || takesScans && pages.isEmpty ? .scan : .page
        return next(in: lane, ofUser: isOfUser).map { (lane, $0.client, $0.job) }
    }

    /// As ``FairQueue/next(ofUser:)``.
    mutating func next(
        in lane: WorkPool.Lane, ofUser: Bool = false
    ) -> (client: String, job: Job)? {
        let next =
            switch lane {
            case .page: pages.next(ofUser: ofUser)
            case .scan: scans.next(ofUser: ofUser)
            }
        if let next { recount(next.client) }
        return next
    }

    /// As ``FairQueue/charge(_:to:)``.
    mutating func charge(_ cost: Int, to name: String, in lane: WorkPool.Lane) {
        switch lane {
        case .page: pages.charge(cost, to: name)
        case .scan: scans.charge(cost, to: name)
        }
    }

    /// As ``FairQueue/removeAll(where:)``.
    mutating func removeAll(where isGone: (Job) -> Bool) -> [Job] {
        let gone = pages.removeAll(where: isGone) + scans.removeAll(where: isGone)
        if !gone.isEmpty { for name in Array(clients.keys) { recount(name) } }
        return gone
    }

    /// Takes the last job of the client of whom most wait, so that another one can have its place; the last
    /// one of the lane in which more of them are.
    ///
    /// Strangers take no places of clients that are signed in.
    ///
    /// - Parameters:
    ///   - count: How many jobs of the other one wait.
    ///   - isAnonymous: Whether the other one has no session.
    /// - Returns: nil if it would have more places afterwards than the one that gave one up.
    /// - Complexity: O(*n* log *n*) in the clients if there is a place, else O(1).
    mutating func makeRoom(besides count: Int, isAnonymous: Bool) -> Job? {
        let most =
            isAnonymous
            ? strangerSizes.largest : max(strangerSizes.largest, userSizes.largest)
        let isOfStranger = strangerSizes.largest == most
        guard most > count + 1,
            let name = clients.first(where: {
                $0.value.waiting == most && $0.value.isAnonymous == isOfStranger
            })?.key
        else { return nil }
        let hasMoreScans = scans.waitingCount(of: name) >= pages.waitingCount(of: name)
        let job = hasMoreScans ? scans.removeLast(of: name) : pages.removeLast(of: name)
        recount(name)
        return job
    }

    private mutating func recount(_ name: String, _ isAnonymous: Bool = false) {
        var client = clients[name] ?? Client(isAnonymous: isAnonymous)
        let waiting = pages.waitingCount(of: name) + scans.waitingCount(of: name)
        if client.isAnonymous {
            strangerSizes.change(from: client.waiting, to: waiting)
        } else {
            userSizes.change(from: client.waiting, to: waiting)
        }
        client.waiting = waiting
        clients[name] = waiting > 0 ? client : nil
    }
}

/// How many clients have how many jobs that wait.
private struct WaitingSizes {
    /// The number of clients of which one job waits, then of which two wait, and so on. The last one is not 0.
    private var clients: [Int] = []

    /// The most jobs of a client.
    var largest: Int { clients.count }

    mutating func change(from before: Int, to now: Int) {
        if before > 0 { clients[before - 1] -= 1 }
        while clients.count < now { clients.append(0) }
        if now > 0 { clients[now - 1] += 1 }
        while clients.last == 0 { clients.removeLast() }
    }
}
