import BackstitchCore
package import BackstitchStore
import Foundation
import LMDB

/// A diagnosis or a repair of the files of a store.
package struct StoreRepair {
    private let directory: String
    private let configuration: StoreConfiguration
    private let progress: @Sendable (_ done: Int, _ total: Int) -> Void

    /// - Parameter progress: Called now and then, on another thread.
    package init(
        _ directory: String, _ configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) {
        self.directory = directory
        self.configuration = configuration
        self.progress = progress
    }

    /// What is wrong with the files, and what a repair would save; see
    /// ``Store/diagnose(at:configuration:progress:)``.
    package func diagnosis() throws -> StoreDiagnosis { try StoreError.wrapping(diagnose) }

    /// Repairs the files; see ``Store/repair(at:configuration:progress:)``.
    ///
    /// - Parameter milliseconds: Names the folder that keeps the damaged files.
    package func repair(milliseconds: Int64) throws -> RepairReport {
        try StoreError.wrapping { try replaceFiles(milliseconds) }
    }

    private func diagnose() throws -> StoreDiagnosis {
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

    private func replaceFiles(_ milliseconds: Int64) throws -> RepairReport {
        var (diagnosis, extent) = try StoreExamination.examine(
            directory, configuration, progress)
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
