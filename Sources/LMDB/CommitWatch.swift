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
        _ folder: Folder, report: @escaping @Sendable () -> Void
    ) throws(LMDBError) {
        // The thread reads the end of the pipe when the other side closes.
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw LMDBError(errno: errno, "watch", path: folder.dataPath)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        stopper = ends[1]
        let stop = ends[0]
        SystemThread.detach { Self.run(folder, stop, report) }
    }

    /// Ends the watch soon; a report may still be under way.
    deinit {
        close(stopper)
    }

    private static func run(_ folder: Folder, _ stop: Int32, _ report: () -> Void) {
        let events = inotify_init1(O_NONBLOCK | O_CLOEXEC)
        var journal = Watched.no
        var isWatching = events >= 0 && watch(folder.dataPath, events) == .yes
        // A journal may come later; the commit that makes it known is one of the data file.
        func watchJournal() {
            guard isWatching, journal == .no else { return }
            journal = watch(folder.journalPath, events)
            isWatching = journal != .never
        }
        watchJournal()
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
                watchJournal()
                if !isWatching { waited[1].fd = -1 }
            }
            report()
        }
    }

    /// Whether the system tells of writes to a file.
    private enum Watched {
        case yes
        /// It isn't there.
        case no
        /// The user's watches are used up.
        case never
    }

    private static func watch(_ path: String, _ events: Int32) -> Watched {
        if inotify_add_watch(events, path, UInt32(IN_MODIFY)) >= 0 { return .yes }
        return errno == ENOENT ? .no : .never
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
        return try CommitWatch(core.folder, report: report)
    }
}
