/// Jobs of many clients, each of which gets its share of what they cost.
///
/// A client that asked for little is served before one that asked for much, however many jobs the
/// other has: start-time fair queueing (Goyal, Vin, Cheng 1996). The cost of a job is told after it.
///
/// Invariant: the heap has each client with waiting jobs once, with the start of its next job.
package struct FairQueue<Job> {
    private struct Client {
        var jobs: [Job] = []
        /// The jobs before this place were taken.
        var first = 0
        /// What the client has had, in the time of the queue.
        var finish = 0
        /// How many of its jobs run.
        var running = 0

        var waiting: Int { jobs.count - first }
    }

    private struct Entry {
        var start: Int
        var arrival: Int
        var name: String

        func isBefore(_ other: Entry) -> Bool {
            (start, arrival) < (other.start, other.arrival)
        }
    }

    /// The most clients that are remembered of whom nothing waits or runs.
    private static var servedMax: Int { 512 }

    private var clients: [String: Client] = [:]
    private var heap: [Entry] = []
    private var arrivals = 0
    /// The start of the job that was taken last.
    private var time = 0
    private var running = 0
    /// How many jobs wait.
    package private(set) var count = 0

    package init() {}

    var isEmpty: Bool { count == 0 }

    /// How many clients are known.
    var clientCount: Int { clients.count }

    /// How many jobs of a client wait.
    func waitingCount(of client: String) -> Int { clients[client]?.waiting ?? 0 }

    /// Adds a job behind the client's others.
    ///
    /// - Complexity: O(log *n*) in the clients that wait.
    package mutating func add(_ job: Job, of name: String) {
        var client = clients.removeValue(forKey: name) ?? Client()
        client.jobs.append(job)
        if client.waiting == 1 { push(name, start: max(time, client.finish)) }
        clients[name] = client
        count += 1
    }

    /// Takes the job whose turn it is. Call ``charge(_:to:)`` when its cost is known.
    ///
    /// - Complexity: O(log *n*) in the clients that wait.
    package mutating func next() -> (client: String, job: Job)? {
        guard let entry = pop(), var client = clients.removeValue(forKey: entry.name) else {
            return nil
        }
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
        if client.waiting > 0 { push(entry.name, start: client.finish) }
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
        if clients.count > 2 * (heap.count + running) + Self.servedMax {
            clients = clients.filter { $0.value.waiting > 0 || $0.value.running > 0 }
        }
    }

    /// Takes all jobs.
    package mutating func removeAll() -> [Job] {
        let jobs = clients.values.flatMap { $0.jobs[$0.first...] }
        clients = clients.filter { $0.value.running > 0 }.mapValues { client in
            var client = client
            (client.jobs, client.first) = ([], 0)
            return client
        }
        heap = []
        count = 0
        return jobs
    }

    // MARK: The heap

    private mutating func push(_ name: String, start: Int) {
        arrivals += 1
        heap.append(Entry(start: start, arrival: arrivals, name: name))
        var index = heap.count - 1
        while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func pop() -> Entry? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
                if heap[child].isBefore(heap[least]) { least = child }
            }
            if least == index { return first }
            heap.swapAt(index, least)
            index = least
        }
    }
}
