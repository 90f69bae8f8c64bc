import LMDB
import Threading

/// The disk of a device, which can be full for a while. Commits on it fail then, in turn by a write
/// that is cut short and by one that finds no block at all.
final class SimulatedDisk: Sendable {
    private struct State {
        /// How many commits still find space; nil while there is enough for all.
        var commitsLeft: Int?
        var failures = 0
    }

    private let state = Locked(State())

    /// Whether the disk is full, or about to be.
    var isFilling: Bool { state.withLock { $0.commitsLeft != nil } }

    /// Lets a number of commits through, and none after them.
    func fill(after commits: Int) {
        state.withLock { $0 = State(commitsLeft: commits) }
    }

    /// Makes space for everything.
    ///
    /// - Returns: how many commits failed since it began to fill.
    @discardableResult
    func free() -> Int {
        state.withLock { state in
            defer { state = State() }
            return state.failures
        }
    }

    /// What the next commit meets.
    func fault() -> CommitFault? {
        state.withLock { state in
            guard let left = state.commitsLeft else { return nil }
            guard left == 0 else {
                state.commitsLeft = left - 1
                return nil
            }
            state.failures += 1
            return state.failures % 2 == 1 ? .shortWrite : .noSpace
        }
    }
}
