import BackstitchCore
import BackstitchStore

/// A record of which the service may have another version than the one that is known here.
enum MissedRecord: Hashable, Sendable {
    /// It was parked in a conflict and then given up, or was not found.
    case version(RecordKey, modifiedMilliseconds: Int64, isDoubted: Bool)
    /// It could not be stored whole, and can be now.
    case incomplete(RecordKey)

    var key: RecordKey {
        switch self {
        case .version(let key, _, _), .incomplete(let key): key
        }
    }
}

/// Looks up the records of which the service may have another version than the one known here.
struct MissedLookup {
    private let work: ExchangeWork

    init(_ work: ExchangeWork) { self.work = work }

    /// The most records of a kind that are looked up before a fold.
    private static let missedMax = 10_000

    /// Lists the records to look up that this round has not looked up yet.
    ///
    /// - Returns: How many there are; nil if there are none.
    func find() async throws -> SyncEvent? {
        let (versions, incomplete) = try work.store.read {
            (
                try MissedVersions($0.reader).settled(limit: Self.missedMax),
                try IncompleteRecords.completable($0.reader, limit: Self.missedMax)
            )
        }
        try await takeEnds(of: versions.filter { $0.modifiedMilliseconds == nil }.map(\.key))
        let missed =
            versions.compactMap { version in
                version.modifiedMilliseconds.map {
                    MissedRecord.version(
                        version.key, modifiedMilliseconds: $0, isDoubted: version.isDoubted)
                }
            } + incomplete.map(MissedRecord.incomplete)
        let progress = work.progress
        progress.missed = missed.filter { progress.lookedUp.insert($0).inserted }
        return progress.missed.isEmpty ? nil : .missed(progress.missed.count)
    }

    /// A record that began again since would have come with the feed.
    private func takeEnds(of keys: [RecordKey]) async throws {
        guard !keys.isEmpty else { return }
        work.note(
            try await work.merge { merger, merged in
                for key in keys {
                    merged.note(
                        try merger.mergeAbsent(key, recordType: nil), key.name, "")
                    try merger.log.forgetNote(.missed, key.name)
                }
            })
    }

    /// Looks up some of the records that were listed, and takes over the service's versions.
    ///
    /// An answer from before the version that was met is of a replica that lags behind: it is left for
    /// the next round.
    func lookUp(_ places: Range<Int>) async throws {
        let part = Array(work.progress.missed[places])
        let results = try await work.service.lookUpRecords(
            part.map(\.key.name.description), in: work.scope.zone)
        work.note(
            try await work.merge { merger, merged in
                for (missed, result) in zip(part, results) {
                    try merger.take(result, for: missed, &merged)
                }
                try merged.mergeDuplicates(merger)
            })
    }
}

extension RecordMerger {
    fileprivate func take(
        _ result: LookupResult, for missed: MissedRecord, _ merged: inout MergeResults
    ) throws {
        switch (missed, result) {
        case (.version(let key, let time, _), .found(let record))
        where record.modifiedMilliseconds >= time:
            merged.note(
                try merge(record, isAuthoritative: true), key.name, record.recordType)
            try log.forgetNote(.missed, key.name)
        case (.version(let key, _, isDoubted: true), .notFound):
            try log.forgetNote(.missed, key.name)
        case (.incomplete(let key), .found(let record)):
            merged.note(
                try completeAgain(record), key.name, record.recordType)
        default:
            // What is not found was deleted since, which the feed tells.
            break
        }
    }
}
