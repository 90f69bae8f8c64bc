import BackstitchCore
public import BackstitchStore
public import Foundation

extension Store {
    /// Diagnoses the files of a store, and what a repair would save.
    ///
    /// Every page is read and checked by ordinary reads of the file, so that no damage can crash
    /// the process: the structure of the file, then the checksums of operations and rows. If
    /// nothing is wrong with these, the store is opened and verified as ``verify(progress:)`` does.
    /// Otherwise a repair is made in a temporary place, to tell what it would keep. The store is
    /// not changed.
    ///
    /// - Parameters:
    ///   - directory: The store's folder.
    ///   - progress: Called now and then.
    /// - Throws: `notAStore`, `newerFormat`, `inaccessible`, `openOtherwise` or `io`; never for damage.
    /// - Complexity: O(*n*) in the pages and the operations; some ten microseconds an operation.
    public static func diagnose(
        at directory: URL, configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> StoreDiagnosis {
        try StoreRepair(directory.localPath(), configuration, progress: progress).diagnosis()
    }

    /// Repairs a store whose files are damaged, and keeps the damaged files.
    ///
    /// Makes a new data file from the intact parts, verifies it, and replaces the damaged file in
    /// one step. If anything fails, nothing is changed. If only tables are damaged, nothing is
    /// lost. If operations are damaged, rows replace them; surviving unsynced edits stay unsynced,
    /// and the next sync fetches everything from the service. An intact store is not changed.
    ///
    /// No process may have the store open, and none can open it meanwhile.
    ///
    /// - Parameters:
    ///   - directory: The store's folder.
    ///   - configuration: With the clock that the folder of the damaged files is named by: the store's
    ///     path, `.damaged-` and the milliseconds since 1970.
    ///   - progress: Called now and then, on another thread; from zero again when the new files are verified.
    /// - Throws: `busy` if the store is open; `damaged` if its catalog is lost, so that only a
    ///   backup helps; `invalidTarget` if something is at the path for the damaged files;
    ///   `notAStore`, `newerFormat`, `inaccessible`, `full` or `io`.
    public static func repair(
        at directory: URL, configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> RepairReport {
        try StoreRepair(directory.localPath(), configuration, progress: progress)
            .repair(milliseconds: configuration.clock.milliseconds)
    }
}
