import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import Threading

/// A copy of a store in a new folder, that becomes a store of its own.
package struct StoreBackup {
    private let store: Store
    private let directory: String

    package init(of store: Store, to directory: String) {
        (self.store, self.directory) = (store, directory)
    }

    /// Makes the copy; see ``Store/backup(to:progress:)``.
    @discardableResult
    package func make(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> BackupReport {
        try StoreError.wrapping {
            try StoreFolder(directory).requireFree(outside: store.environment.directory)
            var made: BackupReport?
            try store.environment.copy(to: directory) { made = try finish($0, progress) }
            guard let report = made else { throw StoreError.closed }
            return report
        }
    }

    /// Gives the copied files their identity, and verifies them.
    ///
    /// - Parameter draft: The folder that has them until they are complete.
    private func finish(
        _ draft: String, _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws -> BackupReport {
        var options = EnvironmentOptions(of: store.configuration)
        options.journal = nil
        options.createsIfMissing = false
        let environment = try Environment.open(at: draft, options: options)
        defer { environment.close() }
        let databases = try Databases(environment)
        guard let original = try environment.read({ try Catalog.stored($0.access, databases) })
        else { throw StoreError.notAStore(draft, "holds no catalog") }
        var catalog = original
        catalog.storeID = LiveValues.nextID()
        catalog.copiedFrom = original.storeID
        let changed = catalog
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                try transaction.access.putCatalog(changed, databases)
            }
        }
        let copy = Store(
            try OpenFiles(environment, databases, store.configuration, catalog))
        defer { copy.close() }
        let found = try copy.verify(progress: progress)
        if let problem = found.problems.first {
            throw StoreError(
                .damaged,
                "The copy is not consistent, and so is the store: \(problem) No copy was kept. Run "
                    + "verify on the store to learn what helps.")
        }
        try store.assets.folder.copy(
            to: ContentFolder(store: draft),
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
