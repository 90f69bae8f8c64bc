import BackstitchCore
import BackstitchLog
public import BackstitchStore
import Foundation
import LMDB

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
            var (diagnosis, extent) = try examine(directory, configuration, progress)
            if diagnosis.remedy == .opening {
                try Store.open(existing: directory, access: .readWrite).close()
                (diagnosis, extent) = try examine(directory, configuration, progress)
            }
            guard !diagnosis.isHealthy else {
                return RepairReport(diagnosis: diagnosis, salvage: nil, keptAt: nil)
            }
            let kept = try makeFolder(besides: directory, milliseconds)
            do {
                let report = try replace(directory, extent, kept, configuration, progress)
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

    private static func makeFolder(
        besides directory: String, _ milliseconds: Int64
    ) throws -> String {
        var path = directory
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        path += ".damaged-\(milliseconds)"
        guard !FileManager.default.fileExists(atPath: path) else {
            throw StoreError(
                .invalidTarget,
                "The damaged files can't be kept at '\(path)': something is there already. Try "
                    + "again.")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(
                .inaccessible,
                "The folder '\(path)' for the damaged files can't be made. Check the folder above.")
        }
        return path
    }

    private static func replace(
        _ directory: String, _ extent: DamageExtent, _ kept: String,
        _ configuration: StoreConfiguration,
        _ progress: @escaping @Sendable (WorkProgress) -> Void
    ) throws -> SalvageReport {
        var made: SalvageReport?
        try Environment.replaceData(in: directory, keepingOldIn: kept) { draft in
            let aside = try SetAsideFile(path: kept + "/set-aside.jsonl")
            let report = try make(draft, from: directory, extent, configuration) {
                try aside.add($0, $1, $2)
            }
            try aside.close()
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            let (text, path) = (try encoder.encode(report), kept + "/report.json")
            try StoreError.writing(path) { try text.write(to: URL(fileURLWithPath: path)) }
            try check(draft, configuration, progress)
            made = report
        }
        guard let report = made else { throw StoreError.closed }
        return report
    }

    /// Makes the new store in a folder.
    private static func make(
        _ draft: String, from directory: String, _ extent: DamageExtent,
        _ configuration: StoreConfiguration, setAside: @escaping SalvageBuilder.SetAside
    ) throws -> SalvageReport {
        var options = options(configuration, durability: .relaxed)
        options.usesRedoFile = false
        let target = try Environment.open(at: draft, options: options)
        defer { target.close() }
        return try salvage(directory, extent, into: target, setAside: setAside)
    }

    /// Throws unless a store that was made is right.
    private static func check(
        _ draft: String, _ configuration: StoreConfiguration,
        _ progress: @escaping @Sendable (WorkProgress) -> Void
    ) throws {
        let store = try Store.open(existing: draft, configuration: configuration)
        defer { store.close() }
        guard let problem = try store.verify(progress: progress).problems.first else { return }
        throw StoreError(
            .damaged,
            "What is left of the store does not make a consistent one: \(problem) Nothing was "
                + "changed. Restore the store from a backup.")
    }
}
