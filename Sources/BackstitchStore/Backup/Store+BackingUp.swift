import BackstitchCore
import BackstitchLog
public import Foundation
import LMDB
import Threading

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
        try backup(to: directory.localPath(), progress: progress)
    }

    @discardableResult
    package func backup(
        to directory: String, progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
    ) throws -> BackupReport {
        do {
            try StoreFolder(directory).requireFree(outside: environment.directory)
            var made: BackupReport?
            try environment.copy(to: directory) { draft in
                made = try StoreCopy(directory: draft, configuration: configuration)
                    .finish(assets.folder, progress)
            }
            guard let report = made else { throw StoreError.closed }
            return report
        } catch {
            throw StoreError.wrap(error)
        }
    }
}

/// The files of a store, copied, that are to become a store of their own.
private struct StoreCopy {
    let directory: String
    let configuration: StoreConfiguration

    /// Gives the copy its identity, and verifies it.
    ///
    /// - Parameter contents: The files of the original's records, of which the copy gets its own.
    func finish(
        _ contents: ContentFolder,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws -> BackupReport {
        var options = EnvironmentOptions(of: configuration)
        options.journal = nil
        options.createsIfMissing = false
        let environment = try Environment.open(at: directory, options: options)
        defer { environment.close() }
        let databases = try Databases(environment)
        guard let original = try environment.read({ try Catalog.stored($0.access, databases) })
        else { throw StoreError.notAStore(directory, "holds no catalog") }
        var catalog = original
        catalog.storeID = LiveValues.nextID()
        catalog.copiedFrom = original.storeID
        let changed = catalog
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                try transaction.access.putCatalog(changed, databases)
            }
        }
        let snapshot = CatalogSnapshot(catalog)
        let copy = Store(
            environment: environment, databases: databases, configuration: configuration,
            shared: try SharedState.of(environment, databases, schema: nil) { catalog },
            types: TypeTable(schema: StoreSchema(), catalog: snapshot))
        defer { copy.close() }
        let found = try copy.verify(progress: progress)
        if let problem = found.problems.first {
            throw StoreError(
                .damaged,
                "The copy is not consistent, and so is the store: \(problem) No copy was kept. Run "
                    + "verify on the store to learn what helps.")
        }
        try contents.copy(
            to: ContentFolder(store: directory),
            copy.read { transaction in
                var named: [ContentKey] = []
                try ContentReferences(transaction.reader).visitAll { key, _ in
                    named.append(key)
                    return true
                }
                return named
            })
        return BackupReport(
            storeID: catalog.storeID, copiedFrom: original.storeID,
            lastSequence: try copy.read { try $0.lastSequence }, operations: found.operations,
            entries: found.entries, bytes: try environment.fileBytes)
    }
}
