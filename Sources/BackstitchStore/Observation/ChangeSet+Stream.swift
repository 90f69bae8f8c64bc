import BackstitchCore
public import BackstitchLog
import LMDB
import Threading

extension ChangeSet {
    /// The changes of a store, in commit order.
    ///
    /// Each commit is one element while the reader keeps up. If a reader falls more than ``pendingMax``
    /// commits behind, later commits are joined into one element, so that memory stays bounded and no
    /// writer waits. The sequence ends when the store is closed.
    public struct Stream: AsyncSequence, Sendable {
        /// A change set for each commit.
        public typealias Element = ChangeSet

        /// The most commits that wait for a reader before they are joined.
        public static let pendingMax = 64

        let mailbox: ChangeMailbox

        /// Starts reading; a stream is read by one reader.
        public func makeAsyncIterator() -> Iterator { Iterator(mailbox: mailbox) }

        /// Reads a change stream.
        public struct Iterator: AsyncIteratorProtocol {
            let mailbox: ChangeMailbox

            /// The changes of the next commit, or nil when the store was closed or the task cancelled.
            public mutating func next() async -> ChangeSet? { await mailbox.next() }
        }
    }
}

/// Where change sets wait for their reader.
final class ChangeMailbox: Sendable {
    private struct State {
        var pending: [ChangeSet] = []
        var waiting: CheckedContinuation<ChangeSet?, Never>?
        var isClosed = false
    }

    private let state = Locked(State())
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    deinit { onEnd() }

    /// Hands over the changes of a commit; never waits.
    func deliver(_ changes: ChangeSet) {
        let waiting = state.withLock { state -> CheckedContinuation<ChangeSet?, Never>? in
            guard !state.isClosed else { return nil }
            if let waiting = state.waiting {
                state.waiting = nil
                return waiting
            }
            if state.pending.count >= ChangeSet.Stream.pendingMax {
                state.pending[state.pending.count - 1].join(changes)
            } else {
                state.pending.append(changes)
            }
            return nil
        }
        waiting?.resume(returning: changes)
    }

    func close() {
        let waiting = state.withLock { state -> CheckedContinuation<ChangeSet?, Never>? in
            state.isClosed = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: nil)
    }

    func next() async -> ChangeSet? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> ChangeSet?? in
                    if !state.pending.isEmpty { return state.pending.removeFirst() }
                    if state.isClosed || Task.isCancelled { return .some(nil) }
                    precondition(state.waiting == nil, "A change stream is read by one reader.")
                    state.waiting = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            close()
        }
    }
}
