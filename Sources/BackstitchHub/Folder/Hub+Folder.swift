public import BackstitchHubCore
import CMalloc
import Glibc
package import LMDB

extension Hub {
    /// Opens the hub in a folder, which is made if it does not exist.
    ///
    /// - Parameter store: Where new files go, if not to the folder. Those that are in the folder stay there.
    /// - Throws: A failure of the storage, whose message says what to do.
    public convenience init(
        at directory: String, files store: HubFileStore? = nil,
        configuration: HubConfiguration = HubConfiguration()
    ) async throws {
        let pool = WorkPool(configuration, .system)
        let storage = try LMDBHubStorage(
            at: directory, readers: pool, clock: configuration.clock)
        let files = try store.files(
            over: FolderFiles(folder: directory + "/assets", of: directory), configuration)
        try await self.init(
            storage: storage, files: files, configuration: configuration, platform: .system,
            pool: pool)
    }

    /// A hub that keeps its records in memory; assets go to a folder that the caller removes.
    public static func temporary(
        assetFolder: String, configuration: HubConfiguration = HubConfiguration()
    ) async throws -> Hub {
        let pool = WorkPool(configuration, .system)
        return try await Hub(
            storage: LMDBHubStorage.temporary(readers: pool, clock: configuration.clock),
            files: FolderFiles(folder: assetFolder), configuration: configuration,
            platform: .system, pool: pool)
    }

    /// Whether a folder holds a hub.
    public static func isHub(at directory: String) -> Bool {
        LMDBHubStorage.isThere(in: directory)
    }

    /// Checks all pages and rows of a hub's folder, without changing them. A hub may serve it
    /// meanwhile.
    ///
    /// - Parameter store: Where the hub keeps files, if not in its folder. It is asked for each of them.
    /// - Throws: A failure if the folder can't be opened, or holds no hub.
    public static func diagnose(
        at directory: String, files store: HubFileStore? = nil
    ) throws -> HubDiagnosis {
        let storage = try LMDBHubStorage.existing(at: directory)
        defer { storage.close() }
        let files = try store.files(over: .existing(in: directory))
        return try HubDiagnosis(of: storage, files, checkingPages: storage.checkPages)
    }
}

extension HubDiagnosis {
    /// Looks at a hub in the data file of something else, such as a store, and changes nothing.
    ///
    /// - Parameter options: How that is opened.
    package init(at directory: String, besides options: EnvironmentOptions) throws {
        let storage = try LMDBHubStorage.existing(at: directory, besides: options)
        defer { storage.close() }
        try self.init(
            of: storage, FolderFiles.existing(in: directory), checkingPages: storage.checkPages)
    }
}

extension HubPlatform {
    /// The machine that this process runs on.
    package static var system: HubPlatform {
        var platform = HubPlatform()
        // What a large body took stays with the C library otherwise, once for each thread.
        platform.releaseMemory = { _ = malloc_trim(0) }
        // On Linux it is the thread alone that gets nicer, and not the process.
        platform.beNicer = { _ = nice($0) }
        return platform
    }
}
