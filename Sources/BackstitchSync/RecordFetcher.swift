import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Takes evicted records back from the service, with as many requests as its limits ask for.
struct RecordFetcher {
    private let leased: LeasedStore

    init(_ leased: LeasedStore) { self.leased = leased }

    /// Takes evicted records back from the store's zone.
    ///
    /// - Returns: The number of records that came back.
    /// - Throws: `unreachable` if the service did not answer for all of them.
    func fetchAgain(_ names: [String]) async throws -> Int {
        do {
            try await ZoneMover(leased).settle()
            // The feed tells of the end of those that were not found.
            return try await fetchAgain(names, from: leased.zoneName).count
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
        let policy = ConflictSettings(leased.configuration.conflictRules)
        var (count, left) = (0, [String]())
        let slot = leased.scope.slot
        let size = max(1, await leased.service.limits.operationsPerRequest)
        try await leased.base(on: zoneName)
        for start in stride(from: 0, to: names.count, by: size) {
            try leased.checkCalled()
            let part = Array(names[start..<min(names.count, start + size)])
            let results = try await leased.service.lookUpRecords(part, in: ZoneID(zoneName))
            let (found, rest) = try await leased.write { context in
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
                if try context.mayHaveNotes(.duplicate, in: slot) {
                    try Self.askForPull(of: zoneName, context)
                }
                return (count, left)
            }
            count += found
            left += rest
        }
        return (count, left)
    }

    /// Lets the next round pull. A record that came back may share a unique value with another one; they become
    /// one at the end of a pull, because until then the service may have another value for either.
    private static func askForPull(of zoneName: String, _ log: LogWriter) throws {
        var state = try log.reader.zoneState(zoneName)
        guard !state.needsPull else { return }
        state.needsPull = true
        try log.setZoneState(state, zoneName)
    }
}
