/// The files of an environment in their folder, looked at or replaced without opening it.
///
/// What is read is read by `pread` and checked, so that no damage can crash the process.
package struct EnvironmentFiles {
    let folder: Folder

    /// The files in a folder, which need not be there.
    package init(at directory: String) {
        folder = Folder(path: directory)
    }

    /// Visits all pages in use of a data file that this process doesn't have open.
    ///
    /// Changed bytes inside keys and values aren't found.
    ///
    /// - Throws: `busy` if it is open; `truncated`, `damaged`, `foreignFile`, `versionMismatch`.
    /// - Complexity: O(*n*) in the pages in use.
    package func verify() throws(LMDBError) {
        let folder = folder
        try EnvironmentRegistry.shared.whileClosed(folder) { () throws(LMDBError) in
            try DataFile.check(path: folder.dataPath, visitsAllPages: true)
        }
    }

    /// The process that stands still in the middle of a write to the environment; `nil` if there is
    /// none, if this process has it open, and if it can't be told.
    package var stoppedWriter: StoppedWriter? {
        let folder = folder
        let found = try? EnvironmentRegistry.shared.whileClosed(folder) {
            () throws(LMDBError) in StoppedWriter(lockPath: folder.lockPath)
        }
        return found ?? nil
    }
}
