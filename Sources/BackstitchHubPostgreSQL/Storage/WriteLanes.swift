import BackstitchHubCore
import Threading

/// Writes that wait, in lanes: those of a lane share commits, and lanes are worked off side by side.
///
/// Writes of one partition are in the same lane, with those of some others: where many wait they cost less
/// together. A lane has one thread at a time. Lanes whose partitions overlap are kept apart by the locks of
/// the database, which each takes in ascending order.
final class WriteLanes: @unchecked Sendable {  // All state is protected by the monitor.
    typealias Lane = GroupCommit<LaneQueue>

    /// The writes of a lane. Who asked for little is served first.
    struct LaneQueue: JobQueue {
        var waiting = FairQueue<any QueuedWrite>()

        mutating func next() -> (any QueuedWrite)? { waiting.next()?.job }
    }

    /// Which lane a write is in.
    private enum Name: Hashable {
        /// That of each so manieth database.
        case databases(UInt64)
        /// That of all writes to the same partitions: what the hub shares, or more than one.
        case partitions(Partitions)

        init(_ partitions: Partitions, _ count: Int) {
            let one = partitions.ascending.first ?? .global
            if partitions.ascending.count == 1, one != .global {
                self = .databases(one.number % UInt64(count))
            } else {
                self = .partitions(partitions)
            }
        }
    }

    private let threadsMax: Int
    private let commit: @Sendable (Lane, any QueuedWrite) -> Void
    private let monitor = Monitor()
    private var lanes: [Name: Lane] = [:]
    /// Lanes with writes on which no thread works, in the order in which they came.
    private var ready: [Name] = []
    private var threads = 0
    private var idle = 0
    private var isStopped = false

    /// - Parameters:
    ///   - threads: How many commits are under way at once, and how many lanes the databases have.
    ///   - commit: Commits a write of a lane, and those that it takes besides.
    init(threads: Int, commit: @escaping @Sendable (Lane, any QueuedWrite) -> Void) {
        (threadsMax, self.commit) = (threads, commit)
    }

    /// Adds a write; false if the lanes were stopped.
    func add(_ write: any QueuedWrite) -> Bool {
        monitor.inside {
            guard !isStopped else { return false }
            let name = Name(write.partitions, threadsMax)
            let lane = lanes[name] ?? GroupCommit(LaneQueue())
            lane.withQueue {
                $0.waiting.add(
                    write, of: write.work.client, isAnonymous: write.work.isAnonymous)
            }
            if lanes.updateValue(lane, forKey: name) == nil {
                ready.append(name)
                if idle > 0 {
                    monitor.signal()
                } else if threads < threadsMax {
                    threads += 1
                    SystemThread.detach { [self] in serve() }
                }
            }
            return true
        }
    }

    /// How many writes wait for a commit.
    var waitingCount: Int {
        monitor.inside {
            lanes.values.reduce(0) { count, lane in count + lane.withQueue { $0.waiting.count } }
        }
    }

    private func serve() {
        monitor.enter()
        while true {
            guard !ready.isEmpty else {
                if isStopped { break }
                idle += 1
                monitor.wait()
                idle -= 1
                continue
            }
            let name = ready.removeFirst()
            guard let lane = lanes[name] else { continue }
            if let write = lane.withQueue({ $0.next() }) {
                monitor.leave()
                commit(lane, write)
                monitor.enter()
                // The next lane has its turn, and then this one.
                ready.append(name)
                if ready.count > 1, idle > 0 { monitor.signal() }
            } else {
                lanes[name] = nil
            }
        }
        threads -= 1
        monitor.broadcast()
        monitor.leave()
    }

    /// Takes the writes that waited too long.
    func takeLate() -> [any QueuedWrite] {
        monitor.inside {
            lanes.values.flatMap { lane in
                lane.withQueue { queue in queue.waiting.removeAll { $0.work.hasToEnd } }
            }
        }
    }

    /// Takes no more writes, and returns those that wait.
    func stop() -> [any QueuedWrite] {
        monitor.inside {
            isStopped = true
            monitor.broadcast()
            return lanes.values.flatMap { $0.withQueue { $0.waiting.removeAll() } }
        }
    }

    /// Waits until no thread works any more.
    func waitForEnd() {
        monitor.inside {
            while threads > 0 { monitor.wait() }
        }
    }
}

/// A write that waits for its commit.
protocol QueuedWrite: AnyObject, Sendable {
    /// The request that it is of.
    var work: RequestWork { get }
    /// Where it writes.
    var partitions: Partitions { get }
    /// What it reads, as far as that is known before.
    var expected: [KeyQuery] { get }
    /// Runs it.
    func run(_ transaction: BufferedTransaction) throws
    /// Answers its caller: with a failure, or with what the last run gave.
    func finish(_ error: (any Error)?)
}

/// A write with its caller, who waits for the result.
final class WaitingWrite<R: Sendable>: QueuedWrite, @unchecked Sendable {  // One thread has it.
    let work: RequestWork
    let partitions: Partitions
    private let queries: @Sendable () -> [KeyQuery]
    private let body: @Sendable (any HubWriting) throws -> R
    private let continuation: CheckedContinuation<R, any Error>
    private var result: R?

    init(
        _ work: RequestWork, to partitions: Partitions,
        expecting queries: @escaping @Sendable () -> [KeyQuery],
        _ body: @escaping @Sendable (any HubWriting) throws -> R,
        _ continuation: CheckedContinuation<R, any Error>
    ) {
        (self.work, self.partitions) = (work, partitions)
        (self.queries, self.body) = (queries, body)
        self.continuation = continuation
    }

    var expected: [KeyQuery] { queries() }

    func run(_ transaction: BufferedTransaction) throws {
        // It waited; from here on it has its bound by what it may do, and not by a clock.
        try work.check()
        work.unlimit()
        result = try transaction.run(for: work, body)
    }

    func finish(_ error: (any Error)?) {
        if let error { return continuation.resume(throwing: error) }
        guard let result else { preconditionFailure("A write ended before it ran.") }
        continuation.resume(returning: result)
    }
}
