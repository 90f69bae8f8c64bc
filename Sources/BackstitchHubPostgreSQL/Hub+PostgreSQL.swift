public import BackstitchHub
import Foundation

extension Hub {
    /// Opens a hub whose records are in a PostgreSQL database, which other hubs may share.
    ///
    /// If the server is away, this takes some seconds.
    ///
    /// - Parameters:
    ///   - database: Where it is; see ``PostgreSQLAddress/migrate()``.
    ///   - folder: The folder of the records' files, which is made if it does not exist. Hubs that
    ///     share the database share this folder too.
    ///   - store: Where new files go, if not to the folder. Hubs share it, and the folder only if what comes
    ///     of one upload may come to several of them.
    /// - Throws: A failure whose message says what to do if the database is away, or has no hub.
    public convenience init(
        storage database: PostgreSQLAddress, files folder: String,
        in store: HubFileStore? = nil,
        configuration: HubConfiguration = HubConfiguration()
    ) async throws {
        try PostgreSQLAddress.refuseData(in: folder)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let storage = try PostgreSQLHubStorage(
            database, clock: configuration.clock, limits: configuration.limits)
        do {
            try await self.init(
                storage: storage,
                files: store.files(
                    over: FolderFiles(folder: folder + "/assets", of: folder, isShared: true),
                    configuration),
                configuration: configuration, platform: .system)
        } catch {
            storage.close()
            throw error
        }
    }
}

extension PostgreSQLAddress {
    /// Checks all rows of the hub in a database, without changing them, and whether its files are there.
    /// Hubs may serve it meanwhile.
    ///
    /// - Parameters:
    ///   - store: Where hubs keep files, if not in the folder. It is asked for each of them.
    ///   - readsFiles: Whether all files are read as well, to compare them with their checksums.
    /// - Throws: A failure whose message says what to do if the database is away, or has no hub.
    public func diagnose(
        files folder: String, in store: HubFileStore? = nil, readsFiles: Bool = false
    ) throws -> HubDiagnosis {
        let storage = try PostgreSQLHubStorage(self, clock: .system, limits: HubLimits())
        defer { storage.close() }
        let files = try store.files(over: .existing(in: folder))
        var diagnosis = try HubDiagnosis(of: storage, files)
        if readsFiles { try diagnosis.readFiles(of: storage, files) }
        return diagnosis
    }

    /// Makes the tables of a hub in a database, unless they are there.
    ///
    /// - Returns: Whether something was to be done.
    /// - Throws: A failure whose message says what to do; nothing is changed then.
    public func migrate() throws -> Bool {
        try PostgreSQLHubStorage.migrate(self, clock: .system)
    }

    /// Checks that a hub can be served over the database, with its files in a folder. Nothing is changed.
    ///
    /// - Parameter hasBucket: Whether the hub is given a bucket for files.
    /// - Throws: The failure that a start would have, whose message says what to do.
    package func check(files folder: String, hasBucket: Bool) throws {
        try Self.refuseData(in: folder)
        try PostgreSQLHubStorage.check(self, clock: .system, hasBucket: hasBucket)
    }

    fileprivate static func refuseData(in folder: String) throws(HubError) {
        guard !HubFolder(folder).hasData else {
            throw HubError(
                .invalid,
                "The folder '\(folder)' has a data.mdb with the records of a hub or a store. Give "
                    + "another one for the files of the hubs that share a database.")
        }
    }
}
