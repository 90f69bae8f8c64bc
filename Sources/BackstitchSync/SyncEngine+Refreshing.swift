import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// The most records that are looked up in one round.
    private static let refreshedRecordsMax = 10_000

    /// Takes over the service's versions of records that were parked in a conflict and then given up.
    ///
    /// What can't be read now is left for the next round, and keeps nothing else from going on. So is
    /// an answer from before the version that was met: it is of a replica that lags behind.
    func refreshMissed() async throws {
        let missed = try store.read {
            try $0.reader.missedVersions(limit: Self.refreshedRecordsMax)
        }
        try await takeEnds(of: missed.filter { $0.modifiedMilliseconds == nil }.map(\.key))
        try await lookUp(missed.filter { $0.modifiedMilliseconds != nil }, \.key, take)
        let completable = try store.read {
            try $0.reader.completableRecords(limit: Self.refreshedRecordsMax)
        }
        try await lookUp(completable, \.self, complete)
    }

    /// Looks records up, as many at a time as the service takes.
    private func lookUp<Item: Sendable>(
        _ items: [Item], _ key: (Item) -> RecordKey,
        _ take: ([LookupResult], [Item]) async throws -> Void
    ) async throws {
        var rest = items[...]
        var count = max(1, machine.exchange.limits.operationsPerRequest)
        while !rest.isEmpty {
            try checkCalled()
            let part = Array(rest.prefix(count))
            do {
                let results = try await service.lookUpRecords(
                    part.map { key($0).name.description }, in: zone)
                try await take(results, part)
                rest = rest.dropFirst(count)
            } catch let error as ServiceError where error.code == .limitExceeded && count > 1 {
                count /= 2
            } catch let error as ServiceError where error.code.scope == .record {
                rest = rest.dropFirst(count)
            }
        }
    }

    /// A record that began again since would have come with the feed.
    private func takeEnds(of keys: [RecordKey]) async throws {
        guard !keys.isEmpty else { return }
        note(
            try await merge { context, policy, merged in
                for key in keys {
                    merged.note(
                        try context.mergeAbsent(key, recordType: nil, policy: policy), key.name, "")
                    try context.forgetMissedVersion(of: key)
                }
            })
    }

    /// Takes in records that could not be stored whole before.
    private func complete(_ results: [LookupResult], of keys: [RecordKey]) async throws {
        note(
            try await merge { context, policy, merged in
                for (key, result) in zip(keys, results) {
                    // The end of one that is not found comes with a pull.
                    guard case .found(let record) = result else { continue }
                    merged.note(
                        try context.completeAgain(record, policy: policy), key.name,
                        record.recordType)
                }
                try merged.mergeDuplicates(context, policy)
            })
    }

    private func take(
        _ results: [LookupResult], for versions: [MissedVersion]
    ) async throws {
        note(
            try await merge { context, policy, merged in
                for (missed, result) in zip(versions, results) {
                    // One that is not found was deleted since, which the feed tells.
                    if case .notFound = result, missed.isDoubted {
                        try context.forgetMissedVersion(of: missed.key)
                    }
                    guard case .found(let record) = result, let time = missed.modifiedMilliseconds,
                        record.modifiedMilliseconds >= time
                    else { continue }
                    merged.note(
                        try context.merge(record, policy: policy, isAuthoritative: true),
                        missed.key.name, record.recordType)
                    try context.forgetMissedVersion(of: missed.key)
                }
                try merged.mergeDuplicates(context, policy)
            })
    }
}
