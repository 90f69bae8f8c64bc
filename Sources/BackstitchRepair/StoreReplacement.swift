import BackstitchCore
import BackstitchLog
import BackstitchStore
import Foundation
import LMDB

/// Puts a store that was made from what is intact in the place of a damaged one.
enum StoreReplacement {
    static func makeFolder(
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

    static func replace(
        _ directory: String, _ extent: StoreExamination.DamageExtent, _ kept: String,
        _ configuration: StoreConfiguration,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws -> SalvageReport {
        var made: SalvageReport?
        try EnvironmentFiles(at: directory).replaceData(keepingOldIn: kept) { draft in
            let aside = try SetAsideFile(path: kept + "/set-aside.jsonl")
            let report = try unsafe make(draft, from: directory, extent, configuration) {
                try unsafe aside.add($0, $1, $2)
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
        _ draft: String, from directory: String, _ extent: StoreExamination.DamageExtent,
        _ configuration: StoreConfiguration, setAside: @escaping SalvageBuilder.SetAside
    ) throws -> SalvageReport {
        var options = EnvironmentOptions(of: configuration, durability: .relaxed)
        options.journal = nil
        let target = try Environment.open(at: draft, options: options)
        defer { target.close() }
        return try unsafe StoreExamination.salvage(
            directory, extent, into: target, setAside: setAside)
    }

    /// Throws unless a store that was made is right.
    private static func check(
        _ draft: String, _ configuration: StoreConfiguration,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
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
