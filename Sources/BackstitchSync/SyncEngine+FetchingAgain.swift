public import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Takes evicted records back from the service, once no round is under way.
    ///
    /// Records that are here, or that were never here, are left to pulls.
    /// - Returns: the number of records that came back. One that the service has no more does not.
    /// - Throws: `stopped`; `invalidConfiguration` if the store belongs to another zone; `standby`
    ///   while another engine synchronises the store; `offline`; `unreachable` if the service did
    ///   not answer for all of them, what came before it stays; `CancellationError`; `StoreError` if
    ///   the store fails.
    @discardableResult
    public func fetchAgain<Model: Entity>(_ ids: [EntityID<Model>]) async throws -> Int {
        let names = ids.map(\.key.name.description)
        guard case .count(let count) = try await request(.fetchAgain(names)) else {
            preconditionFailure("A fetch ends with a count or an error.")
        }
        return count
    }

    func fetchAgain(_ names: [String]) async throws -> Int {
        do {
            try await settleZone()
            // The feed tells of the end of those that were not found.
            return try await fetchAgain(names, from: zoneName).count
        } catch let error as ServiceError {
            throw SyncError(
                .unreachable,
                "The service could not give back what was evicted (\(error)). Try again later.",
                cause: error)
        }
    }

    /// Takes evicted records back from a zone. What is stored for that is based on this zone.
    ///
    /// - Parameter takesOlder: Whether a version counts that is older than the one that was here.
    /// - Returns: the number of records that came back, and the names of those that may still be
    ///   evicted. One that was not found is among them: a replica that lags behind may not know it.
    /// - Throws: `ServiceError` if the service did not answer for all of them.
    func fetchAgain(
        _ names: [String], from zoneName: String, takesOlder: Bool = false
    ) async throws -> (count: Int, left: [String]) {
        // What is evicted has no local changes, so that nothing can be undecided.
        let policy = ConflictSettings(configuration.conflictRules)
        var (count, left) = (0, [String]())
        let size = max(1, await service.limits.operationsPerRequest)
        try await base(on: zoneName)
        for start in stride(from: 0, to: names.count, by: size) {
            try checkCalled()
            let part = Array(names[start..<min(names.count, start + size)])
            let results = try await service.lookUpRecords(part, in: ZoneID(zoneName))
            let (found, rest) = try await write { context in
                var (count, left) = (0, [String]())
                for (name, result) in zip(part, results) {
                    switch result {
                    case .found(let record):
                        let isBack = try RecordMerger(context, policy: policy).fetchAgain(
                            record, takesOlder: takesOlder)
                        if isBack {
                            count += 1
                        } else if !takesOlder {
                            left.append(name)
                        }
                    case .notFound:
                        left.append(name)
                    case .failed(let error):
                        throw error
                    }
                }
                return (count, left)
            }
            count += found
            left += rest
        }
        return (count, left)
    }
}
