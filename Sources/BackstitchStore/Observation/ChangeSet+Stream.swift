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
        var contents = MailboxContents()
        var waiting: CheckedContinuation<Void, Never>? {
            didSet { contents.hasReader = waiting != nil }
        }
    }

    private let state = Locked(State())
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    deinit { onEnd() }

    /// Hands over the changes of a commit; never waits.
    func deliver(_ changes: ChangeSet) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.contents.wants(changes) else { return nil }
            let waiting = state.waiting
            state.waiting = nil
            state.contents.add(changes)
            return waiting
        }
        waiting?.resume()
    }

    /// Sets whether commits without operations are delivered too.
    func setTakesAllCommits(_ takesAll: Bool) {
        state.withLock { $0.contents.takesAllCommits = takesAll }
    }

    func close() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.contents.isClosed = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// The changes whose turn it is; nil if none are there, or at the end.
    func takeFirst() -> ChangeSet? { state.withLock { $0.contents.takeFirst() } }

    /// Waits for the changes whose turn it is; nil at the end.
    func next() async -> ChangeSet? {
        while await arrives() {
            if let first = takeFirst() { return first }
        }
        return nil
    }

    /// Waits until there are changes, which another task may take meanwhile; false at the end, when all
    /// were taken.
    func arrives() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state -> Bool in
                    let contents = state.contents
                    if !contents.pending.isEmpty || contents.isClosed || Task.isCancelled {
                        return true
                    }
                    precondition(state.waiting == nil, "A change stream is read by one reader.")
                    state.waiting = continuation
                    state.contents.checkInvariants()
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            close()
        }
        return state.withLock { !$0.contents.pending.isEmpty || !$0.contents.isClosed }
    }
}

/// What waits in a mailbox.
struct MailboxContents {
    /// In commit order.
    var pending: [ChangeSet] = []
    var isClosed = false
    /// Whether commits without operations are wanted.
    var takesAllCommits = false
    /// Whether a reader waits for the next changes.
    var hasReader = false

    /// Whether the changes of a commit are to be delivered.
    func wants(_ changes: ChangeSet) -> Bool {
        !isClosed && (takesAllCommits || !changes.sequences.isEmpty)
    }

    /// Adds the changes of a commit; joins them with the last ones if too many wait.
    mutating func add(_ changes: ChangeSet) {
        if pending.count >= ChangeSet.Stream.pendingMax {
            pending[pending.count - 1].join(changes)
        } else {
            pending.append(changes)
        }
        checkInvariants()
    }

    /// The changes whose turn it is; nil if none wait.
    mutating func takeFirst() -> ChangeSet? { pending.isEmpty ? nil : pending.removeFirst() }

    /// Traps if the contents contradict themselves, unless the build is optimised.
    func checkInvariants() { assert(violation == nil, violation ?? "") }

    /// What is wrong with the contents; nil if nothing is.
    var violation: String? {
        if pending.count > ChangeSet.Stream.pendingMax { return "\(pending.count) changes wait." }
        if hasReader, !pending.isEmpty { return "A reader waits beside changes." }
        if hasReader, isClosed { return "A reader waits for a mailbox that was closed." }
        for (earlier, later) in zip(pending, pending.dropFirst())
        where earlier.sequences.upperBound > later.sequences.lowerBound {
            return "Changes \(earlier.sequences) come before \(later.sequences)."
        }
        return nil
    }
}
