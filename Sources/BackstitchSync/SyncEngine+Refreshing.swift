import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// The most records that are looked up in one round.
    private static let refreshedRecordsMax = 10_000

    /// Looks the service's versions of records up that were parked in a conflict and then given up.
    ///
    /// What can't be read now is left for the next round, and keeps nothing else from going on.
    func refreshMissed() async throws {
        var rest = try store.read {
            try $0.reader.missedRecords(limit: Self.refreshedRecordsMax)
        }[...]
        var count = max(1, machine.limits.operationsPerRequest)
        while !rest.isEmpty {
            let keys = Array(rest.prefix(count))
            do {
                let results = try await service.lookUpRecords(
                    keys.map(\.name.description), in: zone)
                try await take(results, of: keys)
                rest = rest.dropFirst(count)
            } catch let error as ServiceError where error.code == .limitExceeded && count > 1 {
                count /= 2
            } catch let error as ServiceError where !error.code.concernsEverything {
                rest = rest.dropFirst(count)
            }
        }
    }

    private func take(_ results: [LookupResult], of keys: [RecordKey]) async throws {
        let merged = try await merge { context, policy, merged in
            for (key, result) in zip(keys, results) {
                let outcome: MergeResult
                var type = ""
                switch result {
                case .found(let record):
                    type = record.recordType
                    outcome = try context.merge(record, policy: policy, isAuthoritative: true)
                case .notFound:
                    outcome = try context.mergeAbsent(key, recordType: nil, policy: policy)
                case .failed:
                    continue
                }
                merged.note(outcome, key.name, type)
                switch outcome {
                case .unchanged, .applied, .conflict: try context.forgetMissedVersion(of: key)
                case .parked, .undecided, .rejected: break
                }
            }
        }
        note(merged)
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
