public import Foundation

extension Store {
    /// Copies the store as of its last commit into a new folder. Reads and writes continue.
    ///
    /// The folder appears when the copy is complete, on disk, and verified as ``verify(progress:)``
    /// does it. The copy is a store: to restore it, open it. It has an identity of its own and
    /// names the original's. Synced records stay synced in it, unsynced ones are still to be
    /// pushed, and it continues to pull from the original's place. Files of records are linked or copied.
    ///
    /// Copying holds a snapshot: space that is freed meanwhile is not reused until the copy is
    /// written. Verifying reads the copy. Memory does not grow with the store. A crash leaves a
    /// hidden folder beside the target, which the next backup to it removes.
    ///
    /// - Parameters:
    ///   - directory: The path of the copy. Nothing may exist there, and its parent must exist.
    ///   - progress: How far verifying has come, on another thread.
    /// - Throws: `invalidTarget` if something is at the path, its parent is no folder, or it is
    ///   inside the store; `full`, `inaccessible`, `closed` or `io`; `damaged` if the store is.
    ///   Nothing is at the path then.
    @discardableResult
    public func backup(
        to directory: URL,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> BackupReport {
        try StoreBackup(of: self, to: directory.localPath()).make(progress: progress)
    }
}
