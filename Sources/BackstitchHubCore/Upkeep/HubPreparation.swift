import CloudKitWire

extension HubStorage {
    /// Makes what a hub knows of itself, unless it is there.
    ///
    /// - Parameter hasBucket: Whether files may come to be objects of a bucket from now on.
    /// - Returns: Whether there may be such files.
    func prepareHub(_ configuration: HubConfiguration, hasBucket: Bool) async throws -> Bool {
        let secret = configuration.clock.secret
        return try await write(to: [.global]) { transaction in
            try transaction.openState(hasObjects: hasBucket, secret).hasObjects
        }
    }
}
