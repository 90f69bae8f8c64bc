import Glibc
import Threading

/// Tells of commits of all processes, a few milliseconds after they were made.
///
/// A thread waits for the system to say that the data file or the journal was written to (inotify(7)). If that
/// can't be had, because the user's watches are used up, it wakes up on its own often enough.
package final class CommitWatch: Sendable {
    /// How long the thread sleeps if the system doesn't wake it.
    static let pollMilliseconds: Int32 = 20
    /// Commits that follow each other faster are reported together.
    static let pauseMicroseconds: UInt32 = 2_000

    private let stopper: Int32

    /// Starts watching.
    ///
    /// - Parameter report: Called on the thread after commits, its own process's included, and now
    ///   and then without any.
    /// - Throws: `other` if the process has no file left to open.
    init(
        paths: [String], report: @escaping @Sendable () -> Void
    ) throws(LMDBError) {
        // The thread reads the end of the pipe when the other side closes.
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw LMDBError(errno: errno, "watch", path: paths.joined(separator: "', '"))
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        stopper = ends[1]
        let stop = ends[0]
        SystemThread.detach { Self.run(paths, stop, report) }
    }

    /// Ends the watch soon; a report may still be under way.
    deinit {
        close(stopper)
    }

    private static func run(_ paths: [String], _ stop: Int32, _ report: () -> Void) {
        let events = inotify_init1(O_NONBLOCK | O_CLOEXEC)
        let isWatching =
            events >= 0
            && paths.allSatisfy { inotify_add_watch(events, $0, UInt32(IN_MODIFY)) >= 0 }
        defer {
            if events >= 0 { close(events) }
            close(stop)
        }
        var waited = [
            pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isWatching ? events : -1, events: Int16(POLLIN), revents: 0),
        ]
        // What was committed before the watch began.
        report()
        while true {
            let ready = poll(&waited, 2, isWatching ? -1 : pollMilliseconds)
            if waited[0].revents != 0 { return }
            if ready < 0, errno != EINTR { return }
            if isWatching {
                usleep(pauseMicroseconds)
                drain(events)
            }
            report()
        }
    }

    private static func drain(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}

extension Environment {
    /// Watches for commits of all processes until the result is released.
    ///
    /// - Parameter report: Called on a thread of the watch after commits, within milliseconds, and
    ///   at once. Several commits may be reported together.
    /// - Returns: `nil` for a temporary environment, which no other process has.
    package func watchCommits(
        _ report: @escaping @Sendable () -> Void
    ) throws(LMDBError) -> CommitWatch? {
        guard !core.folder.isUnlinked else { return nil }
        let paths = [core.folder.dataPath, core.journal?.file.path].compactMap { $0 }
        return try CommitWatch(paths: paths, report: report)
    }
}
