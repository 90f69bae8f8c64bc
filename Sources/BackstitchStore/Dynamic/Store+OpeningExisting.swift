import BackstitchCore
import BackstitchLog
public import Foundation
import LMDB

extension Store {
    /// Opens a store that exists, without the Swift types that wrote it.
    ///
    /// For tools that show any store. Records and operations are read by name, with
    /// `ReadTransaction.record(_:of:)`; Swift types are unknown to the store. What
    /// its schema declared last stays declared, and indexes stay as they are. Nothing is created:
    /// a folder that is no store is left as it is, down to its last byte.
    ///
    /// Other processes may write meanwhile; every read sees their last commit, and new names in it.
    ///
    /// - Parameters:
    ///   - directory: The store's folder.
    ///   - access: Whether the store may be written to, as ``rebuild()`` does.
    ///   - checksPages: Whether every page in use is checked first, some microseconds each. Do so
    ///     if the file may be damaged: the storage engine trusts pages and may crash on a
    ///     damaged one.
    /// - Throws: `notAStore`, `newerFormat`, `damaged`, `inaccessible` or `io`; `openOtherwise`
    ///   if this process has it open with other options; `olderFormat` if it would have to be migrated.
    public static func open(
        existing directory: URL, access: StoreConfiguration.Access = .readOnly,
        configuration: StoreConfiguration = .init(), checksPages: Bool = false
    ) throws -> Store {
        try open(
            existing: directory.localPath(), access: access, configuration: configuration,
            checksPages: checksPages)
    }

    package static func open(
        existing directory: String, access: StoreConfiguration.Access = .readOnly,
        configuration: StoreConfiguration = .init(), checksPages: Bool = false
    ) throws -> Store {
        do {
            var options = EnvironmentOptions(of: configuration)
            options.isReadOnly = access == .readOnly
            try StoreFolder(directory).requireStore(options, checksPages: checksPages)
            options.createsIfMissing = access == .readWrite
            let environment = try StoreFiles(directory, options, configuration).open()
            do {
                if checksPages { try environment.checkPages() }
                let databases = try Databases(environment)
                let stored = try environment.read { try Catalog.stored($0.access, databases) }
                guard let catalog = stored else {
                    throw StoreError.notAStore(directory, "holds an LMDB file of another program")
                }
                return Store(
                    environment: environment, databases: databases, configuration: configuration,
                    shared: try SharedState.of(environment, databases, schema: nil) { catalog },
                    types: TypeTable(schema: StoreSchema(), catalog: CatalogSnapshot(catalog)))
            } catch {
                environment.close()
                throw error
            }
        } catch {
            throw StoreError.wrap(error)
        }
    }
}
