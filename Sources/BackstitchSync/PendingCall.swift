import BackstitchStore
import Threading

/// A call that waits for its answer. It ends once: by the answer, or as its task is cancelled.
final class PendingCall: Sendable {
    /// What it was answered.
    enum Value: Sendable {
        case done
        case report(SyncReport)
        case count(Int)
        case progress(OperationProgress)
    }

    private enum State {
        case open
        case waiting(CheckedContinuation<Value, any Error>)
        case ended(Result<Value, any Error>)
    }

    private let state = Locked(State.open)

    /// Waits for the end. Returns at once when the task is cancelled.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Value, any Error>? = state.withLock { state in
                    if case .ended(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            end(.failure(CancellationError()))
        }
    }

    /// Ends it, unless it has ended.
    func end(_ result: Result<Value, any Error>) {
        let continuation: CheckedContinuation<Value, any Error>? = state.withLock { state in
            switch state {
            case .open:
                state = .ended(result)
                return nil
            case .waiting(let continuation):
                state = .ended(result)
                return continuation
            case .ended:
                return nil
            }
        }
        continuation?.resume(with: result)
    }

    /// Ends it, unless it has ended, by an answer.
    ///
    /// - Parameter report: That of the round.
    func end(_ answer: EngineMachine.Answer, _ report: SyncReport) {
        switch answer {
        case .done: end(.success(.done))
        case .report: end(.success(.report(report)))
        case .count(let count): end(.success(.count(count)))
        case .progress(let progress): end(.success(.progress(progress)))
        case .failed(let failure): end(.failure(failure.error))
        }
    }
}
