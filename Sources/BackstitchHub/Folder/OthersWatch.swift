import BackstitchHubCore
import LMDB
import Threading

/// Notices that another process has written to a hub's data file.
///
/// A thread looks now and then, which costs less than to be told of each commit: nearly all are the
/// hub's own. If nothing was written, a look reads one number.
final class OthersWatch: @unchecked Sendable {  // The monitor or the lock has all that changes.
    /// How long it takes to notice a commit, in milliseconds.
    private static let pollMilliseconds = 100

    private let environment: Environment
    private let wake: @Sendable (ChangedPartitions) -> Void
    private let monitor = Monitor()
    private var isStopped = false
    /// The last commit that was seen, or made here; nil before the first look. The writer thread sets it.
    private let lastCommit = Locked<UInt64?>(nil)

    init(_ environment: Environment, _ wake: @escaping @Sendable (ChangedPartitions) -> Void) {
        (self.environment, self.wake) = (environment, wake)
    }

    /// Begins to look. What was committed before is not told.
    func start() { SystemThread.detach { [self] in run() } }

    func stop() {
        monitor.inside {
            isStopped = true
            monitor.broadcast()
        }
    }

    private func run() {
        monitor.enter()
        defer { monitor.leave() }
        while !isStopped {
            // A storage that is closed tells no more. The writer thread is woken for foreign commits alone.
            if let commit, commit != lastCommit.withLock({ $0 }) {
                environment.writer.submit { [self] in
                    // What was one of its own is noted by now.
                    if let commit = self.commit { look(at: commit) }
                }
            }
            _ = monitor.wait(milliseconds: Self.pollMilliseconds)
        }
    }

    private var commit: UInt64? { try? environment.read { $0.access.commit } }

    /// Reports a commit that this storage did not make; on the writer thread.
    func look(at commit: UInt64) {
        let last = lastCommit.withLock { last in
            defer { last = commit }
            return last
        }
        if let last, last != commit { wake(.all) }
    }

    /// Notes a commit of this storage; on the writer thread.
    func note(_ commit: UInt64) { lastCommit.withLock { $0 = commit } }
}
