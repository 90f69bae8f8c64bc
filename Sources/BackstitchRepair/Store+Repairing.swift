import BackstitchCore
public import BackstitchStore
public import Foundation
import LMDB

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
        try diagnose(
            at: directory.localPath(), configuration: configuration, progress: progress)
    }

    package static func diagnose(
        at directory: String, configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> StoreDiagnosis {
        do {
            return try StoreRepair(directory, configuration, progress).diagnosis()
        } catch {
            throw StoreError.wrap(error)
        }
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
    ///   - progress: Called now and then, on another thread.
    /// - Throws: `busy` if the store is open; `damaged` if its catalog is lost, so that only a
    ///   backup helps; `invalidTarget` if something is at the path for the damaged files;
    ///   `notAStore`, `newerFormat`, `inaccessible`, `full` or `io`.
    public static func repair(
        at directory: URL, configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> RepairReport {
        try repair(
            at: directory.localPath(), milliseconds: configuration.clock.milliseconds,
            configuration: configuration, progress: progress)
    }

    package static func repair(
        at directory: String, milliseconds: Int64, configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> RepairReport {
        do {
            return try StoreRepair(directory, configuration, progress)
                .repair(milliseconds: milliseconds)
        } catch {
            throw StoreError.wrap(error)
        }
    }
}

/// A diagnosis or a repair of the files of a store.
private struct StoreRepair {
    let directory: String
    let configuration: StoreConfiguration
    let progress: @Sendable (_ done: Int, _ total: Int) -> Void

    init(
        _ directory: String, _ configuration: StoreConfiguration,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) {
        self.directory = directory
        self.configuration = configuration
        self.progress = progress
    }

    /// What is wrong with the files, and what a repair would save.
    func diagnosis() throws -> StoreDiagnosis {
        let stoppedWriter = EnvironmentFiles(at: directory).stoppedWriter?.process
        var (diagnosis, extent) = try StoreExamination.examine(
            directory, configuration, progress)
        diagnosis.stoppedWriter = stoppedWriter
        guard [.rebuild, .salvage].contains(diagnosis.remedy) else { return diagnosis }
        let place = try Environment.temporary(
            options: EnvironmentOptions(of: configuration, durability: .relaxed))
        defer { place.close() }
        do {
            diagnosis.salvage = unsafe try StoreExamination.salvage(
                directory, extent, into: place
            ) { _, _, _ in }
        } catch let error as StoreError where error.code == .damaged {
            diagnosis.remedy = .backup
        }
        return diagnosis
    }

    /// - Parameter milliseconds: Names the folder that keeps the damaged files.
    func repair(milliseconds: Int64) throws -> RepairReport {
        var (diagnosis, extent) = try StoreExamination.examine(
            directory, configuration, progress)
        if diagnosis.remedy == .opening {
            try Store.open(existing: directory, access: .readWrite).close()
            (diagnosis, extent) = try StoreExamination.examine(
                directory, configuration, progress)
        }
        guard !diagnosis.isHealthy else {
            return RepairReport(diagnosis: diagnosis, salvage: nil, keptAt: nil)
        }
        let kept = try StoreReplacement.makeFolder(besides: directory, milliseconds)
        do {
            let report = try StoreReplacement.replace(
                directory, extent, kept, configuration, progress)
            diagnosis.salvage = report
            return RepairReport(
                diagnosis: diagnosis, salvage: report, keptAt: URL(filePath: kept))
        } catch {
            // Once the old files are there, they stay.
            if !EnvironmentFiles(at: kept).hasData {
                try? FileManager.default.removeItem(atPath: kept)
            }
            throw error
        }
    }
}
