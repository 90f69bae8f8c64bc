import Glibc
import Synchronization
package import Threading

/// An open store: one folder with one LMDB file.
///
/// Every ``open(at:options:)`` returns its own handle, and handles of one file share everything.
/// The file closes with its last handle, by ``close()`` or when the handle is released.
///
/// Reading is possible from any thread and doesn't wait for writing. Writing happens on the
/// ``writer`` thread only.
package final class Environment: @unchecked Sendable {  // Constants and an atomic flag.
    /// The folder, as it was given; of a temporary environment the one that is gone already.
    package let directory: String
    let core: EnvironmentCore
    private let isClosed = Atomic(false)

    init(_ core: EnvironmentCore, directory: String) {
        self.core = core
        self.directory = directory
    }

    deinit {
        close()
    }

    /// Opens the environment in a folder, or joins it if this process has it open.
    ///
    /// A missing folder is created with its databases at once, or not at all: a crash leaves no
    /// half of it. The files are checked before LMDB gets them.
    ///
    /// - Throws: `other` for durability `none`; `differentOptions` if it is open with others; `notFoundPath`, `notADirectory`,
    ///   `permissionDenied`, `readOnlyDirectory`, `networkFileSystem` for the folder;
    ///   `foreignFile`, `versionMismatch`, `truncated`, `damaged` for the data file; `busy` if a process of
    ///   another PID namespace has this one's number, or if another one has it open and this one can't write
    ///   to the lock file.
    package static func open(
        at directory: String, options: EnvironmentOptions
    ) throws(LMDBError) -> Environment {
        guard options.durability != .none else {
            throw LMDBError(
                .other,
                "Without syncing a file doesn't survive a crash. Open a temporary environment.")
        }
        let folder = Folder(path: directory)
        let core = try EnvironmentRegistry.shared.open(folder, options: options)
        return Environment(core, directory: directory)
    }

    /// The database with a name of the options.
    ///
    /// - Throws: `notFoundPath` for another name.
    /// - Complexity: O(1)
    package func database(_ name: String) throws(LMDBError) -> Database {
        guard let database = core.databases[name] else {
            throw LMDBError(
                .notFoundPath,
                "The options name no database '\(name)', but \(core.options.databases).")
        }
        return database
    }

    /// Gives the handle back. With the last handle the file closes, after running reads and
    /// submitted jobs; on the writer thread it closes after the current job.
    ///
    /// A second call does nothing. Don't call it inside a read.
    package func close() {
        guard core.process.isCurrent,
            !isClosed.exchange(true, ordering: .sequentiallyConsistent)
        else { return }
        EnvironmentRegistry.shared.close(core)
    }

    /// As ``close()``, but returns at once: the file closes after the reads, on another thread.
    package func closeSoon() {
        guard core.process.isCurrent,
            !isClosed.exchange(true, ordering: .sequentiallyConsistent)
        else { return }
        let core = core
        SystemThread.detach { EnvironmentRegistry.shared.close(core) }
    }

    /// Whether the calling thread is inside a read of the file; waiting for a write there could
    /// last forever.
    package var isReading: Bool { core.mapLock.isReading }

    /// Whether a write failed in such a way that every call throws `panicked` until all handles of the
    /// file are closed and it is opened again.
    package var hasFailed: Bool { core.mapLock.hasPanicked }

    /// What all handles of a file have in common, and no two open files.
    package var identity: ObjectIdentifier { ObjectIdentifier(core) }

    /// The thread on which the environment writes. All handles of a file have the same.
    package var writer: SerialThread { core.writer }

    /// Throws if the process was forked since the environment was opened.
    package func checkProcess() throws(LMDBError) { try core.checkProcess() }

    /// Throws if the handle is closed or the process was forked.
    func checkOpen() throws(LMDBError) {
        try core.checkProcess()
        guard !isClosed.load(ordering: .relaxed) else { throw .closed }
    }
}
