import BackstitchStore

/// Who waits for an operation to be settled or for a round to end.
struct Waiters {
    private var next = 0
    private var operations:
        [Int: (sequence: UInt64, CheckedContinuation<OperationProgress, any Error>)] =
            [:]
    private var rounds: [Int: (round: Int, CheckedContinuation<Void, any Error>)] = [:]

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
        operations.removeValue(forKey: number)?.1.resume(throwing: CancellationError())
        rounds.removeValue(forKey: number)?.1.resume(throwing: CancellationError())
    }

    /// Ends all waits.
    mutating func fail(_ error: any Error) {
        for (_, (_, continuation)) in operations { continuation.resume(throwing: error) }
        for (_, (_, continuation)) in rounds { continuation.resume(throwing: error) }
        operations = [:]
        rounds = [:]
    }
}
