import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import Threading

extension Store {
    /// Copies the store as of its last commit into a new folder, while reading and writing go on.
    ///
    /// The folder appears when the copy is complete, on disk, and verified as ``verify(progress:)``
    /// does it. It is a store: opening it is all that a restore takes. The copy has an identity of
    /// its own and names the one of the original. What was synced stays synced in it, what was not
    /// is still to be pushed, and it pulls on from where the original stood.
    ///
    /// Copying holds a snapshot, so that the space of what is deleted meanwhile is not used again
    /// until the copy is written; verifying reads the copy. Memory does not grow with the store. A
    /// crash leaves a hidden folder beside the target, which the next backup to it removes.
    ///
    /// - Parameters:
    ///   - directory: The path of the copy: nothing may be there, and its parent must exist.
    ///   - progress: How far verifying has come, on another thread.
    /// - Throws: `invalidTarget` if something is at the path, its parent is no folder, or it is
    ///   inside the store; `full`, `inaccessible`, `closed` or `io`; `damaged` if the store is.
    ///   Nothing is at the path then.
    @discardableResult
    public func backup(
        to directory: String, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) throws -> BackupReport {
        do {
            try Self.checkTarget(directory, outside: self.directory)
            var made: BackupReport?
            try environment.copy(to: directory) { draft in
                made = try StoreCopy(directory: draft, configuration: configuration)
                    .finish(progress)
            }
            guard let report = made else { throw StoreError.closed }
            return report
        } catch {
            throw StoreError.wrap(error)
        }
    }

    private static func checkTarget(_ path: String, outside store: String) throws {
        let files = FileManager.default
        let target = URL(fileURLWithPath: path).standardizedFileURL
        func refuse(_ reason: String) -> StoreError {
            StoreError(.invalidTarget, "The store can't be copied to '\(path)': \(reason)")
        }
        if path.isEmpty { throw refuse("the path is empty. Give the path of a new folder.") }
        // A link that leads nowhere is something too.
        if (try? files.attributesOfItem(atPath: target.path)) != nil {
            throw refuse("something is there already. Give the path of a new folder.")
        }
        let parent = target.deletingLastPathComponent().resolvingSymlinksInPath().path
        var isFolder: ObjCBool = false
        guard files.fileExists(atPath: parent, isDirectory: &isFolder), isFolder.boolValue else {
            throw refuse("there is no folder '\(parent)' to make it in. Make that first.")
        }
        let own = URL(fileURLWithPath: store).resolvingSymlinksInPath().path
        if parent == own || parent.hasPrefix(own + "/") {
            throw refuse("that is inside the store itself. Choose a path outside of it.")
        }
    }
}

/// The files of a store, copied, that are to become a store of their own.
private struct StoreCopy {
    let directory: String
    let configuration: StoreConfiguration

    /// Gives the copy its identity, and verifies it.
    func finish(
        _ progress: @escaping @Sendable (WorkProgress) -> Void
    ) throws -> BackupReport {
        var options = EnvironmentOptions(of: configuration)
        options.usesRedoFile = false
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
        let bytes = try CatalogCoding.encode(catalog)
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                try transaction.access.putMeta(MetaName.catalog, bytes, databases)
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
        return BackupReport(
            storeID: catalog.storeID, copiedFrom: original.storeID,
            lastSequence: try copy.read { try $0.lastSequence }, operations: found.operations,
            entries: found.entries, bytes: try environment.fileBytes)
    }
}
