public import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Takes evicted records back from the service.
    ///
    /// Records that are here, or that were never here, are left to pulls.
    /// - Returns: the number of records that came back. One that the service has no more does not.
    /// - Throws: `stopped`; `unreachable` where the service did not answer for all of them, what came
    ///   before it stays; `StoreError` where the store fails.
    @discardableResult
    public func fetchAgain<Model: Entity>(_ ids: [EntityID<Model>]) async throws -> Int {
        guard !isStopped else { throw Self.stopped }
        // What is evicted has no local changes, so that nothing can be undecided.
        let policy = ConflictSettings(configuration.conflictRules)
        let names = ids.map(\.key.name.description)
        var count = 0
        do {
            let size = max(1, await service.limits.operationsPerRequest)
            for start in stride(from: 0, to: names.count, by: size) {
                let part = Array(names[start..<min(names.count, start + size)])
                let results = try await service.lookUpRecords(part, in: zone)
                count += try await store.writeContext { context in
                    var count = 0
                    for (name, result) in zip(part, results) {
                        switch result {
                        case .found(let record):
                            if try context.fetchAgain(record, policy: policy) { count += 1 }
                        case .notFound:
                            _ = try context.endEviction(of: RecordKey(RecordName(name)))
                        case .failed(let error):
                            throw error
                        }
                    }
                    return count
                }
            }
        } catch let error as ServiceError {
            throw SyncError(
                .unreachable,
                "The service could not give back what was evicted (\(error)). Try again later.",
                serviceError: error)
        }
        return count
    }
}
