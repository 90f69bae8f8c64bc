import BackstitchHubCore
import Foundation
import LMDB

/// Brings a hub's folder from format 1 to format 2.
///
/// The new data file is made in a folder of its own inside, and takes the place of the old one at once,
/// when it is complete, counted and on disk; files get second names before. Ended at any moment, the
/// folder is the old one or the new one, and what is left beside it goes the next time.
struct FolderMigration {
    let directory: String
    private var draft: String { directory + "/migration" }

    /// - Parameter progress: Told how far it is; what it throws ends the migration.
    /// - Returns: nil if the folder has a later format already.
    func run(_ progress: @escaping (MigrationProgress) throws -> Void) async throws
        -> MigrationReport?
    {
        guard LMDBHubStorage.isThere(in: directory) else {
            throw HubError(.notFound, "There is no hub in '\(directory)'. Check the folder.")
        }
        let old = try LMDBHubStorage.format1(at: directory)
        defer { old.close() }
        let format = try old.format
        let files = try FolderFiles(folder: directory + "/assets", of: directory)
        guard format == 1 else {
            old.close()
            try LMDBHubStorage(at: directory).close()
            // What is left of a migration that ended early.
            try files.beginServing()
            removeDraft()
            files.endServing()
            return nil
        }
        let serving = try ServingLock(directory: directory)
        defer { withExtendedLifetime(serving) {} }
        // Whatever comes of it: what is made here may be what filled the disk.
        defer { removeDraft() }
        removeDraft()
        try files.removePartitions()
        let commit = try old.lastCommit
        let report = try await fillDraft(from: old, files, progress)
        old.close()
        try EnvironmentFiles(at: directory).replaceData(movingFrom: draft, after: commit)
        try progress(.init(stage: .replaced, entries: report.entries, of: report.entries))
        files.removeFormat1()
        return report
    }

    private func fillDraft(
        from old: LMDBHubStorage, _ files: FolderFiles,
        _ progress: @escaping (MigrationProgress) throws -> Void
    ) async throws -> MigrationReport {
        let new = try LMDBHubStorage.draft(at: draft)
        defer { new.close() }
        var migration = HubMigration(
            from: old, to: new, adopt: files.adopt, progress: progress)
        let report = try await migration.run()
        try new.checkPages()
        try files.syncPartitions()
        return report
    }

    private func removeDraft() { try? FileManager.default.removeItem(atPath: draft) }
}

extension Hub {
    /// Migrates a hub's folder from format 1, which this program does not serve, to its own.
    ///
    /// If it is ended at any moment, the folder is either unchanged or migrated, and it can be run
    /// again. Tokens and credentials stay valid; addresses of files end, as they do after minutes
    /// anyway.
    ///
    /// - Parameter progress: Told how many entries are copied, of how many.
    /// - Returns: nil if the folder has a later format already.
    /// - Throws: A failure if a hub serves the folder, if it holds none, or if its data is damaged.
    public static func migrate(
        at directory: String,
        progress: @escaping @Sendable (_ entries: Int, _ of: Int) -> Void = { _, _ in }
    ) async throws -> MigrationReport? {
        try await FolderMigration(directory: directory).run { progress($0.entries, $0.of) }
    }
}
