public import BackstitchCore
public import Foundation

extension Store {
    /// Opens the store in a folder, or makes one there.
    ///
    /// The schema is checked, and joins what other versions of the program declared (``StoreSchema/version``). Opening
    /// does not read the log: its time does not grow with the number of records. New indexes are built afterwards,
    /// see ``prepareIndexes(progress:)``. Attributes that became unique, references and converted attributes are
    /// worked on first, some ten microseconds a record. Then ``StoreConfiguration/dataMigrations`` are made that the
    /// store lacks: open it where that may be waited for.
    ///
    /// - Parameter directory: The store's folder. Its parent must exist.
    /// - Throws: `invalidSchema` with all violations; `migrationFailed`; `notAStore`, `newerFormat`, `damaged`,
    ///   `inaccessible`, `openOtherwise`, `busy` (while its file is replaced), `full` or `io`.
    public convenience init(
        at directory: URL, schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws {
        try self.init(at: directory.localPath(), schema: schema, configuration: configuration)
    }

    package convenience init(
        at directory: String, schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws {
        let opening = StoreOpening(schema, configuration)
        self.init(try opening.files(in: directory))
        try opening.finish(self)
    }

    /// Makes a store that keeps nothing on disk, with the same interface and the same checks.
    ///
    /// - Throws: `invalidSchema` with all violations; `io` if the system lends no memory.
    public static func inMemory(
        schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws -> Store {
        let opening = StoreOpening(schema, configuration)
        let store = Store(try opening.temporaryFiles())
        try opening.finish(store)
        return store
    }

    /// Opens a store that exists, without the Swift types that wrote it.
    ///
    /// For tools that show any store. Records and operations are read by name, with `ReadTransaction.record(_:of:)`;
    /// Swift types are unknown to the store. What schemas declared stays declared, and indexes stay as they are.
    /// Nothing is created: a folder that is no store is left as it is, down to its last byte.
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
    ///   if this process has it open with other options; `busy` if another process has it open that this
    ///   one can't share it with.
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
        Store(try .existing(in: directory, access, configuration, checksPages: checksPages))
    }
}
