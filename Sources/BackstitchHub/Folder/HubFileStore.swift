package import BackstitchHubCore

/// Where a hub keeps files, if not in its folder. A module for it makes one.
public struct HubFileStore: Sendable {
    private let open: @Sendable (FolderFiles, HubConfiguration) throws -> any HubFiles
    private let look: @Sendable (HubConfiguration) throws -> Void

    /// - Parameters:
    ///   - open: Opens it. The folder takes uploads, and has the files that are not in the store.
    ///   - look: Throws a failure that says what to do if it can't be used.
    package init(
        open: @escaping @Sendable (FolderFiles, HubConfiguration) throws -> any HubFiles,
        look: @escaping @Sendable (HubConfiguration) throws -> Void
    ) {
        (self.open, self.look) = (open, look)
    }

    /// Asks whether it is there and lets the hub in. It takes as long as the network does.
    ///
    /// - Throws: A failure that says what to do.
    public func check() throws { try look(HubConfiguration()) }

    fileprivate func files(
        over folder: FolderFiles, _ configuration: HubConfiguration
    ) throws -> any HubFiles {
        try open(folder, configuration)
    }
}

extension HubFileStore? {
    /// The files of a hub: those of the store. Without a store they are in the folder alone.
    package func files(
        over folder: FolderFiles, _ configuration: HubConfiguration = HubConfiguration()
    ) throws -> any HubFiles {
        try self?.files(over: folder, configuration) ?? folder
    }
}
