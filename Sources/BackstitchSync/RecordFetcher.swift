import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Takes evicted records back from the service, with as many requests as its limits ask for.
struct RecordFetcher {
    private let exchange: ZoneExchange

    init(_ exchange: ZoneExchange) { self.exchange = exchange }

    /// Takes evicted records back from the store's zone.
    ///
    /// - Returns: The number of records that came back.
    /// - Throws: `unreachable` if the service did not answer for all of them.
    func fetchAgain(_ names: [String]) async throws -> Int {
        do {
            try await ZoneMover(exchange).settle()
            // The feed tells of the end of those that were not found.
            return try await fetch(names).count
        } catch let error as ServiceError {
            throw SyncError(
                .unreachable,
                "The service could not give back what was evicted (\(error)). Try again later.",
                cause: error)
        }
    }

    /// Takes evicted records back.
    ///
    /// - Parameter takesOlder: Whether a version counts that is older than the one that was here.
    /// - Returns: the number of records that came back, and the names of those that may still be
    ///   evicted. One that was not found is among them: a replica that lags behind may not know it.
    /// - Throws: `ServiceError` if the service did not answer for all of them.
    func fetch(
        _ names: [String], takesOlder: Bool = false
    ) async throws -> (count: Int, left: [String]) {
        // What is evicted has no local changes, so that nothing can be undecided.
        let policy = ConflictSettings(exchange.configuration.conflictRules)
        var (count, left) = (0, [String]())
        let place = exchange.place
        let size = max(1, await exchange.service.limits.operationsPerRequest)
        try await exchange.begin()
        for start in stride(from: 0, to: names.count, by: size) {
            try exchange.session.checkCalled()
            let part = Array(names[start..<min(names.count, start + size)])
            let results = try await exchange.service.lookUpRecords(part, in: place.id)
            let (found, rest) = try await exchange.write { context in
                var (count, left) = (0, [String]())
                for (name, result) in zip(part, results) {
                    switch result {
                    case .found(let record):
                        let merger = RecordMerger(context, policy: policy, zone: place.slot)
                        let isBack = try merger.fetchAgain(record, takesOlder: takesOlder)
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
                if try context.mayHaveNotes(.duplicate, in: place.slot) {
                    try Self.askForPull(of: place, context)
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
    private static func askForPull(of place: ZonePlace, _ log: LogWriter) throws {
        var state = try log.reader.zoneState(place)
        guard !state.needsPull else { return }
        state.needsPull = true
        try log.setZoneState(state, place)
    }
}
