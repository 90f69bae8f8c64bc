import Threading

/// The open environments of the process, by data file.
///
/// Opening a file twice and closing one of the two handles would erase the reader slots of the
/// whole process, as would opening and closing the files by other means: POSIX locks go with the
/// first descriptor that is closed. So equal files share one ``EnvironmentCore``, and files are
/// identified by `stat`.
final class EnvironmentRegistry: @unchecked Sendable {  // Protected by the monitor.
    static let shared = EnvironmentRegistry()

    private struct Entry {
        let core: EnvironmentCore
        var handles: Int
        var isClosing = false
    }

    private let monitor = Monitor()
    private var entries: [FileKey: Entry] = [:]

    private init() {}

    /// Returns the open core of a folder, or opens it. Others wait until it is open.
    func open(
        _ folder: Folder, options: EnvironmentOptions
    ) throws(LMDBError) -> EnvironmentCore {
        monitor.enter()
        defer { monitor.leave() }
        try folder.prepare(options)
        while let key = try FileKey(path: folder.dataPath), let entry = entries[key] {
            if entry.isClosing {
                if entry.core.mapLock.isReading || entry.core.writer.isCurrent {
                    throw .openInsideClosing
                }
                monitor.wait()
                continue
            }
            guard entry.core.options == options else { throw .differentOptions(folder.path) }
            entries[key]?.handles += 1
            return entry.core
        }
        try refuseReplacedData(folder)
        try folder.refuseDuringRepair()
        try folder.checkDataFile(options)
        let core = try EnvironmentCore(folder, options: options)
        entries[core.key] = Entry(core: core, handles: 1)
        return core
    }

    /// Gives a handle back, and closes the environment with the last one.
    ///
    /// Waits for running reads and submitted jobs then, except on the writer thread: there the
    /// environment closes after the current job.
    func close(_ core: EnvironmentCore) {
        monitor.enter()
        if var entry = entries[core.key], entry.core === core {
            entry.handles -= 1
            entry.isClosing = entry.handles == 0
            entries[core.key] = entry
            guard entry.isClosing else {
                monitor.leave()
                return
            }
        }
        monitor.leave()
        core.close { [self] in
            monitor.enter()
            if entries[core.key]?.core === core { entries[core.key] = nil }
            monitor.broadcast()
            monitor.leave()
        }
    }

    /// Runs a closure if no environment of this process has the data file open.
    func whileClosed<R>(
        _ folder: Folder, _ body: () throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        monitor.enter()
        defer { monitor.leave() }
        if let key = try FileKey(path: folder.dataPath), entries[key] != nil {
            throw LMDBError(.busy, "'\(folder.path)' is open. Close it first.")
        }
        return try body()
    }

    /// Two data files must not share a lock file: closing one would unlock the other.
    private func refuseReplacedData(_ folder: Folder) throws(LMDBError) {
        guard let lockKey = try FileKey(path: folder.lockPath) else { return }
        if entries.values.contains(where: { $0.core.lockKey == lockKey }) {
            throw LMDBError(
                .busy,
                """
                The data file of '\(folder.path)' was replaced while an environment had the old \
                one open. Close that environment first.
                """)
        }
    }
}

extension LMDBError {
    fileprivate static let openInsideClosing = LMDBError(
        .busy,
        """
        The environment is closing and waits for a read or a job of this thread. Let it end, then \
        open again.
        """)

    fileprivate static func differentOptions(_ path: String) -> LMDBError {
        LMDBError(
            .differentOptions,
            "'\(path)' is open in this process with other options. Use equal ones, or close it.")
    }
}
