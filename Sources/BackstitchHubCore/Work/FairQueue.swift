/// Jobs of many clients, each of which gets its share of what they cost.
///
/// A client that asked for little is served before one that asked for much, however many jobs the
/// other has: start-time fair queueing (Goyal, Vin, Cheng 1996). The cost of a job is told after it.
/// Among clients whose turns come at the same time, the one that has had less is first.
///
/// Anybody can come from many addresses, each of which has had nothing. So clients that are signed in
/// have every second turn at least while they wait.
///
/// Invariant: the heaps together have each client with waiting jobs once, with the start of its next job.
package struct FairQueue<Job> {
    private struct Client {
        var jobs: [Job] = []
        /// The jobs before this place were taken.
        var first = 0
        /// What the client has had, in the time of the queue.
        var finish = 0
        /// How many of its jobs run.
        var running = 0
        /// Whether the client has no session.
        var isAnonymous = false

        var waiting: Int { jobs.count - first }
    }

    /// The most clients that are remembered of whom nothing waits or runs.
    private static var servedMax: Int { 512 }

    private var clients: [String: Client] = [:]
    /// Those that are signed in.
    private var users = TurnHeap()
    private var strangers = TurnHeap()
    /// Whether a stranger had the last turn.
    private var hadStranger = false
    private var arrivals = 0
    /// The start of the job that was taken last.
    private var time = 0
    private var running = 0
    /// How many jobs wait.
    package private(set) var count = 0

    package init() {}

    var isEmpty: Bool { count == 0 }

    /// Whether a client that is signed in waits.
    var hasUsers: Bool { users.count > 0 }

    /// Whether the next turn is of a client without a session.
    var isTurnOfStranger: Bool {
        guard let stranger = strangers.first else { return false }
        return users.first.map { !hadStranger && stranger.isBefore($0) } ?? true
    }

    /// How many clients are known.
    var clientCount: Int { clients.count }

    /// How many jobs of a client wait.
    func waitingCount(of client: String) -> Int { clients[client]?.waiting ?? 0 }

    /// Adds a job behind the client's others.
    ///
    /// - Parameter isAnonymous: Whether the client has no session; the same for all jobs of a client.
    /// - Complexity: O(log *n*) in the clients that wait.
    package mutating func add(_ job: Job, of name: String, isAnonymous: Bool = false) {
        var client = clients.removeValue(forKey: name) ?? Client()
        if client.waiting == 0 { client.isAnonymous = isAnonymous }
        client.jobs.append(job)
        if client.waiting == 1 { push(name, client, start: max(time, client.finish)) }
        clients[name] = client
        count += 1
    }

    /// Takes the job whose turn it is. Call ``charge(_:to:)`` when its cost is known.
    ///
    /// - Parameter ofUser: Whether clients without a session are passed over.
    /// - Complexity: O(log *n*) in the clients that wait.
    package mutating func next(ofUser: Bool = false) -> (client: String, job: Job)? {
        guard let entry = takeTurn(ofUser: ofUser),
            var client = clients.removeValue(forKey: entry.name)
        else { return nil }
        time = max(time, entry.start)
        let job = client.jobs[client.first]
        client.first += 1
        if client.first == client.jobs.count {
            client.jobs = []
            client.first = 0
        } else if client.first >= 32, client.first * 2 >= client.jobs.count {
            client.jobs.removeFirst(client.first)
            client.first = 0
        }
        client.running += 1
        running += 1
        // Until the cost is known: so that the next job of the same client comes behind others.
        client.finish = max(time, client.finish) + 1
        if client.waiting > 0 { push(entry.name, client, start: client.finish) }
        clients[entry.name] = client
        count -= 1
        return (entry.name, job)
    }

    /// Notes what a job cost that was taken.
    package mutating func charge(_ cost: Int, to name: String) {
        guard var client = clients.removeValue(forKey: name) else { return }
        client.running -= 1
        running -= 1
        // One was counted when it was taken.
        client.finish += max(0, cost - 1)
        clients[name] = client
        // If nobody waits, nobody is ahead of anybody.
        if count == 0, running == 0 { clients = [:] }
        if clients.count > 2 * (users.count + strangers.count + running) + Self.servedMax {
            clients = clients.filter { $0.value.waiting > 0 || $0.value.running > 0 }
        }
    }

    /// Removes the jobs for which a closure is true, in any turn, and charges no client for them.
    ///
    /// - Complexity: O(*n*) in the jobs that wait.
    package mutating func removeAll(where isGone: (Job) -> Bool) -> [Job] {
        guard count > 0 else { return [] }
        var gone: [Job] = []
        var emptied: Set<String> = []
        for name in clients.filter({ $0.value.waiting > 0 }).keys {
            guard var client = clients.removeValue(forKey: name) else { continue }
            let jobs = client.jobs[client.first...]
            let staying = jobs.filter { !isGone($0) }
            if staying.count < jobs.count {
                gone += jobs.filter(isGone)
                (client.jobs, client.first) = (staying, 0)
                if staying.isEmpty { emptied.insert(name) }
            }
            clients[name] = client
        }
        guard !gone.isEmpty else { return [] }
        count -= gone.count
        users.removeAll { emptied.contains($0.name) }
        strangers.removeAll { emptied.contains($0.name) }
        if count == 0, running == 0 { clients = [:] }
        return gone
    }

    /// Takes all jobs.
    package mutating func removeAll() -> [Job] { removeAll { _ in true } }

    /// Takes the last job of a client; nil if none waits.
    ///
    /// - Complexity: O(*n* log *n*) in the clients that wait if it was the only one, else O(1).
    mutating func removeLast(of name: String) -> Job? {
        guard waitingCount(of: name) > 0, var client = clients.removeValue(forKey: name) else {
            return nil
        }
        let job = client.jobs.removeLast()
        if client.waiting == 0 {
            (client.jobs, client.first) = ([], 0)
            users.removeAll { $0.name == name }
            strangers.removeAll { $0.name == name }
        }
        clients[name] = client
        count -= 1
        return job
    }

    // MARK: Turns

    private mutating func push(_ name: String, _ client: Client, start: Int) {
        arrivals += 1
        let entry = TurnHeap.Entry(
            start: start, had: client.finish, arrival: arrivals, name: name)
        if client.isAnonymous { strangers.push(entry) } else { users.push(entry) }
    }

    /// The client whose turn it is.
    private mutating func takeTurn(ofUser: Bool) -> TurnHeap.Entry? {
        hadStranger = !ofUser && isTurnOfStranger
        return hadStranger ? strangers.pop() : users.pop()
    }
}

/// Clients that wait, of which the one whose turn comes first is taken first.
private struct TurnHeap {
    struct Entry {
        var start: Int
        /// What the client has had before.
        var had: Int
        var arrival: Int
        var name: String

        func isBefore(_ other: Entry) -> Bool {
            (start, had, arrival) < (other.start, other.had, other.arrival)
        }
    }

    private var entries: [Entry] = []

    var count: Int { entries.count }
    var first: Entry? { entries.first }

    mutating func push(_ entry: Entry) {
        entries.append(entry)
        var index = entries.count - 1
        while index > 0, entries[index].isBefore(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func pop() -> Entry? {
        guard let first = entries.first else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first }
        entries[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].isBefore(entries[least]) { least = child }
            }
            if least == index { return first }
            entries.swapAt(index, least)
            index = least
        }
    }

    mutating func removeAll(where isGone: (Entry) -> Bool) {
        // Entries that are in order are a heap.
        entries = entries.filter { !isGone($0) }.sorted { $0.isBefore($1) }
    }
}
