import BackstitchHubCore
import LMDB
import Threading

/// Notices that another process has written to a hub's data file.
///
/// A thread looks now and then, which costs less than to be told of each commit: nearly all are the
/// hub's own.
final class OthersWatch: @unchecked Sendable {  // The writer thread's, or behind the monitor.

    /// How long it takes to notice a commit, in milliseconds.
    private static let pollMilliseconds = 100

    private let environment: Environment
    private let wake: @Sendable (ChangedPartitions) -> Void
    private let monitor = Monitor()
    private var isStopped = false
    /// The last commit that was seen, or made here; nil before the first look. The writer thread's.
    private var lastCommit: UInt64?

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
            environment.writer.submit { [self] in
                // A storage that is closed tells no more.
                if let commit = try? environment.read({ $0.access.commit }) { look(at: commit) }
            }
            _ = monitor.wait(milliseconds: Self.pollMilliseconds)
        }
    }

    /// Tells of a commit that nobody noted; on the writer thread.
    func look(at commit: UInt64) {
        if let lastCommit, lastCommit != commit { wake(.all) }
        lastCommit = commit
    }

    /// Notes a commit of this storage; on the writer thread.
    func note(_ commit: UInt64) { lastCommit = commit }
}
