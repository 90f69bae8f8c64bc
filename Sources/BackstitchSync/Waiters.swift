import BackstitchStore

/// Who waits for an operation to be settled, for a round to end, or for what the engine does.
struct Waiters {
    /// Resumed with the report, if it was a round.
    typealias Call = CheckedContinuation<SyncReport?, any Error>

    private var next: Int

    init(next: Int = 0) { self.next = next }

    private var operations:
        [Int: (sequence: UInt64, CheckedContinuation<OperationProgress, any Error>)] =
            [:]
    private var rounds: [Int: (round: Int, CheckedContinuation<Void, any Error>)] = [:]

    /// The calls that what runs is done for.
    private var served: [Int: Call] = [:]
    /// The calls that the next round is run for.
    private var joined: [Int: Call] = [:]
    /// Who waits until nothing runs.
    private var idle: [Int: CheckedContinuation<Void, any Error>] = [:]

    /// A number for somebody who is going to wait.
    mutating func number() -> Int {
        next += 1
        return next
    }

    mutating func add(
        _ number: Int, _ sequence: UInt64,
        _ continuation: CheckedContinuation<OperationProgress, any Error>
    ) {
        operations[number] = (sequence, continuation)
    }

    mutating func add(
        _ number: Int, round: Int, _ continuation: CheckedContinuation<Void, any Error>
    ) {
        rounds[number] = (round, continuation)
    }

    /// Adds a call for what runs; or for the next round, if it joins.
    mutating func add(_ number: Int, joins: Bool, _ call: Call) {
        if joins { joined[number] = call } else { served[number] = call }
    }

    mutating func add(_ number: Int, whenIdle continuation: CheckedContinuation<Void, any Error>) {
        idle[number] = continuation
    }

    /// Whether what runs is done for one call alone.
    func isOnlyServed(_ number: Int) -> Bool { served.count == 1 && served[number] != nil }

    /// Whether anybody waits for the next round.
    var hasJoined: Bool { !joined.isEmpty }

    /// The next round begins.
    mutating func beginServing() {
        served = joined
        joined = [:]
    }

    /// What ran has ended.
    mutating func serve(_ result: Result<SyncReport?, any Error>) {
        for call in served.values { call.resume(with: result) }
        served = [:]
    }

    /// Nothing runs.
    mutating func wakeIdle() {
        for continuation in idle.values { continuation.resume() }
        idle = [:]
    }

    /// Whether anybody waits for an operation.
    var hasOperations: Bool { !operations.isEmpty }

    /// Wakes those whose operations are not pending any more.
    mutating func wake(by progress: (UInt64) throws -> OperationProgress) {
        for (number, (sequence, continuation)) in operations {
            do {
                let found = try progress(sequence)
                if found == .pending { continue }
                continuation.resume(returning: found)
            } catch {
                continuation.resume(throwing: error)
            }
            operations[number] = nil
        }
    }

    /// Wakes those who wait for a round that began no later than this one, which ended well.
    mutating func completed(round: Int) {
        for (number, (wanted, continuation)) in rounds where wanted <= round {
            continuation.resume()
            rounds[number] = nil
        }
    }

    /// Ends the wait of one whose task was cancelled.
    mutating func cancel(_ number: Int) {
        let error = CancellationError()
        operations.removeValue(forKey: number)?.1.resume(throwing: error)
        rounds.removeValue(forKey: number)?.1.resume(throwing: error)
        joined.removeValue(forKey: number)?.resume(throwing: error)
        idle.removeValue(forKey: number)?.resume(throwing: error)
        served.removeValue(forKey: number)?.resume(throwing: error)
    }

    /// Ends all waits.
    mutating func fail(_ error: any Error) {
        for (_, (_, continuation)) in operations { continuation.resume(throwing: error) }
        for (_, (_, continuation)) in rounds { continuation.resume(throwing: error) }
        for call in served.values { call.resume(throwing: error) }
        for call in joined.values { call.resume(throwing: error) }
        for continuation in idle.values { continuation.resume(throwing: error) }
        self = Waiters(next: next)
    }
}
