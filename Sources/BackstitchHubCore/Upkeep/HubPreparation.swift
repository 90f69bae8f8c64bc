import CloudKitWire

extension HubStorage {
    /// Makes what a hub knows of itself, unless it is there.
    ///
    /// - Parameter hasBucket: Whether files may come to be objects of a bucket from now on.
    /// - Returns: Whether there may be such files.
    func prepareHub(_ configuration: HubConfiguration, hasBucket: Bool) async throws -> Bool {
        let (secret, now) = (configuration.clock.secret, configuration.now)
        let state = try await write(to: [.global]) { transaction in
            try AnswerLedger.removeOldGlobal(transaction, now: now)
            return try transaction.openState(hasObjects: hasBucket, secret)
        }
        try await UserIndex.complete(self)
        return state.hasObjects
    }
}
