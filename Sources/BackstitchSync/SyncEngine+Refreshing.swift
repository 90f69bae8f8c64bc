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
        var rest = missed.filter { $0.modifiedMilliseconds != nil }[...]
        var count = max(1, machine.limits.operationsPerRequest)
        while !rest.isEmpty {
            let versions = Array(rest.prefix(count))
            do {
                let results = try await service.lookUpRecords(
                    versions.map(\.key.name.description), in: zone)
                try await take(results, for: versions)
                rest = rest.dropFirst(count)
            } catch let error as ServiceError where error.code == .limitExceeded && count > 1 {
                count /= 2
            } catch let error as ServiceError where !error.code.concernsEverything {
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

    private func take(
        _ results: [LookupResult], for versions: [MissedVersion]
    ) async throws {
        note(
            try await merge { context, policy, merged in
                for (missed, result) in zip(versions, results) {
                    // One that is not found was deleted since, which the feed tells.
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

extension ServiceError.Code {
    /// Whether a request that fails so says something about all others, too.
    fileprivate var concernsEverything: Bool {
        switch self {
        case .conflict, .alreadyExists, .unknownItem, .batchFailed, .limitExceeded,
            .referenceViolation, .invalidRequest, .assetMissing:
            false
        default: true
        }
    }
}
