import Threading
import BackstitchSync

/// A clock that stands still until it is told to advance, in whole milliseconds since 1970.
///
/// ``sleep(milliseconds:)`` returns when the time has been advanced far enough. Sleeping tasks are
/// woken in the order of their times, and for equal times in the order of their calls.
public final class ManualClock: Sendable {
    /// Who sleeps, and until when.
    private struct Sleeper {
        var number: Int
        var wakeMilliseconds: Int64
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var nowMilliseconds: Int64
        var sleepCount = 0
        var sleepers: [Sleeper] = []
        var cancelled: Set<Int> = []
    }

    private let state: Locked<State>

    /// A clock that shows a fixed time in milliseconds since 1970.
    public init(milliseconds: Int64 = 1_700_000_000_000) {
        state = Locked(State(nowMilliseconds: milliseconds))
    }

    /// The time, in milliseconds since 1970.
    public var milliseconds: Int64 {
        state.withLock { $0.nowMilliseconds }
    }

    /// The number of sleeping tasks.
    public var sleeperCount: Int {
        state.withLock { $0.sleepers.count }
    }

    /// When the next one is to be woken, in milliseconds since 1970; nil if no task sleeps.
    public var nextWakeMilliseconds: Int64? {
        state.withLock { $0.sleepers.map(\.wakeMilliseconds).min() }
    }

    /// Advances the time, and wakes the tasks whose time has come.
    ///
    /// A clock does not go back: a negative number is a programmer's error and traps. Woken tasks
    /// run after this returns; when they sleep again, that counts from the new time.
    public func advance(milliseconds: Int64) {
        precondition(milliseconds >= 0, "A clock does not go back.")
        let woken = state.withLock { state in
            state.nowMilliseconds += milliseconds
            let now = state.nowMilliseconds
            let due = state.sleepers.filter { $0.wakeMilliseconds <= now }
            state.sleepers.removeAll { $0.wakeMilliseconds <= now }
            return due
        }
        let ordered = woken.sorted {
            ($0.wakeMilliseconds, $0.number) < ($1.wakeMilliseconds, $1.number)
        }
        for sleeper in ordered { sleeper.continuation.resume() }
    }

    /// Advances the time to the next sleeping task's, and wakes all tasks that are due then.
    ///
    /// - Returns: Whether any task slept.
    @discardableResult
    public func advanceToNextWake() -> Bool {
        guard let wake = nextWakeMilliseconds else { return false }
        advance(milliseconds: max(0, wake - milliseconds))
        return true
    }

    /// Returns once the clock has been advanced by a number of milliseconds; at once for zero or less.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before.
    public func sleep(milliseconds: Int64) async throws {
        try Task.checkCancellation()
        guard milliseconds > 0 else { return }
        let number = state.withLock { state in
            state.sleepCount += 1
            return state.sleepCount
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return true }
                    state.sleepers.append(
                        Sleeper(
                            number: number,
                            wakeMilliseconds: state.nowMilliseconds + milliseconds,
                            continuation: continuation))
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            cancel(number)
        }
        state.withLock { _ = $0.cancelled.remove(number) }
    }

    private func cancel(_ number: Int) {
        let sleeper = state.withLock { state -> Sleeper? in
            guard let index = state.sleepers.firstIndex(where: { $0.number == number }) else {
                state.cancelled.insert(number)
                return nil
            }
            return state.sleepers.remove(at: index)
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
