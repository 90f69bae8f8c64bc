public import BackstitchStore
import Foundation
import LMDB

extension Store {
    /// Finds out what is wrong with the files of a store, and what a repair would make of them.
    ///
    /// Every page is read and checked by ordinary reads of the file, so that no damage can crash the
    /// process: the structure of the file, then the checksums of operations and rows. If nothing is
    /// wrong with these, the store is opened and verified as ``verify(progress:)`` does. If
    /// something is, a repair is made in a temporary place, to tell what it keeps. Nothing of the
    /// store is changed.
    ///
    /// - Parameters:
    ///   - directory: The path of the store's folder.
    ///   - progress: Called now and then.
    /// - Throws: `notAStore`, `newerFormat`, `inaccessible`, `openOtherwise` or `io`; never for damage.
    /// - Complexity: O(*n*) in the pages and the operations; some ten microseconds an operation.
    public static func diagnose(
        at directory: String, configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) throws -> StoreDiagnosis {
        do {
            let stoppedWriter = Environment.stoppedWriter(at: directory)?.process
            var (diagnosis, extent) = try StoreExamination.examine(
                directory, configuration, progress)
            diagnosis.stoppedWriter = stoppedWriter
            guard [.rebuild, .salvage].contains(diagnosis.remedy) else { return diagnosis }
            let place = try Environment.temporary(
                options: EnvironmentOptions(of: configuration, durability: .relaxed))
            defer { place.close() }
            do {
                diagnosis.salvage = try StoreExamination.salvage(
                    directory, extent, into: place
                ) { _, _, _ in }
            } catch let error as StoreError where error.code == .damaged {
                diagnosis.remedy = .backup
            }
            return diagnosis
        } catch {
            throw StoreError.wrap(error)
        }
    }
}

extension Store {
    /// Puts a store in order whose files are damaged, and keeps the damaged ones.
    ///
    /// A new data file is made from what is intact, verified, and put in the place of the damaged one
    /// at once; if anything fails, nothing is changed. If only tables are damaged, nothing is lost.
    /// If operations are damaged, rows stand in for them; unsynced edits that survive stay unsynced,
    /// and the next sync fetches everything from the service. A store that is in order is left as it
    /// is.
    ///
    /// No process may have the store open, and none can open it meanwhile.
    ///
    /// - Parameters:
    ///   - directory: The path of the store's folder.
    ///   - milliseconds: The time since 1970, for the name of the folder that keeps the damaged files:
    ///     the store's path, `.damaged-` and the time.
    ///   - progress: Called now and then, on another thread.
    /// - Throws: `busy` if the store is open; `damaged` if its catalog is lost, so that only a
    ///   backup helps; `invalidTarget` if something is at the path for the damaged files;
    ///   `notAStore`, `newerFormat`, `inaccessible`, `full` or `io`.
    public static func repair(
        at directory: String, milliseconds: Int64, configuration: StoreConfiguration = .init(),
        progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) throws -> RepairReport {
        do {
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
                return RepairReport(diagnosis: diagnosis, salvage: report, keptAt: kept)
            } catch {
                // Once the old files are there, they stay.
                if !Environment.hasData(at: kept) {
                    try? FileManager.default.removeItem(atPath: kept)
                }
                throw error
            }
        } catch {
            throw StoreError.wrap(error)
        }
    }
}
