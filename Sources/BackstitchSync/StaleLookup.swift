import BackstitchCore
import BackstitchLog
import BackstitchStore

/// A record of which the service may have another version than the one that is known here.
enum StaleRecord: Hashable, Sendable {
    /// It was parked in a conflict and then given up, or was not found.
    case version(RecordKey, modifiedMilliseconds: Int64, isDoubted: Bool)
    /// It could not be stored whole, and can be now.
    case incomplete(RecordKey)
    /// The service could not deliver it, or its answers contradicted each other.
    case undelivered(RecordKey)
    /// A full fetch did not list it.
    case unseen(RecordKey, entityName: String)

    var key: RecordKey {
        switch self {
        case .version(let key, _, _), .incomplete(let key), .undelivered(let key),
            .unseen(let key, _):
            key
        }
    }

    var isUnseen: Bool { if case .unseen = self { true } else { false } }
}

/// Looks up the records of which the service may have another version than the one known here.
struct StaleLookup {
    private let exchange: ZoneExchange

    init(_ exchange: ZoneExchange) { self.exchange = exchange }

    /// The most records of a kind that are looked up before a fold, or before the next listing.
    private static let missedMax = 10_000

    /// Lists the records to look up that this round has not looked up yet.
    ///
    /// - Returns: How many there are; nil if there are none.
    func find() async throws -> SyncEvent? {
        let (now, slot) = (exchange.scope.clock.milliseconds, exchange.slot)
        let (versions, incomplete, undelivered) = try exchange.store.read {
            (
                try UnmergedVersions($0.reader, in: slot).settled(limit: Self.missedMax),
                try IncompleteRecords.completable(
                    $0.reader, in: slot, limit: Self.missedMax),
                try UndeliveredRecords.due(
                    $0.reader, in: slot, now: now, limit: Self.missedMax)
            )
        }
        try await takeEnds(of: versions.filter { $0.modifiedMilliseconds == nil }.map(\.key))
        let missed: [StaleRecord] =
            versions.compactMap { version in
                version.modifiedMilliseconds.map {
                    StaleRecord.version(
                        version.key, modifiedMilliseconds: $0, isDoubted: version.isDoubted)
                }
            } + incomplete.map(StaleRecord.incomplete)
            + undelivered.keys.map(StaleRecord.undelivered)
        let progress = exchange.progress
        let new = missed.filter { progress.lookedUp.insert($0).inserted }
        progress.dueMilliseconds = undelivered.nextMilliseconds
        if new.isEmpty, !undelivered.keys.isEmpty {
            // They could not be looked up in this round.
            progress.dueMilliseconds = now + Backoff.longestMilliseconds
        }
        return tell(new)
    }

    /// Lists records that the service had and that a full fetch did not list. Each is looked up once, and
    /// counts as seen then.
    ///
    /// - Returns: How many there are; nil if there are none.
    func findUnseen() throws -> SyncEvent? {
        let (types, slot) = (
            exchange.configuration.selection.wantedTypes, exchange.slot
        )
        return tell(
            try exchange.store.read {
                try FullFetch.unseen(
                    $0.reader, in: slot, wantedTypes: types, limit: Self.missedMax)
            }
            .map { StaleRecord.unseen($0.key, entityName: $0.entityName) })
    }

    private func tell(_ missed: [StaleRecord]) -> SyncEvent? {
        exchange.progress.missed = missed
        return missed.isEmpty ? nil : .missed(missed.count)
    }

    /// A record that began again since would have come with the feed.
    private func takeEnds(of keys: [RecordKey]) async throws {
        guard !keys.isEmpty else { return }
        exchange.note(
            try await exchange.merge { merger, merged in
                for key in keys {
                    merged.note(try merger.mergeAbsent(key, recordType: nil), key)
                    try merger.log.forgetNote(.missed, key)
                }
            })
    }

    /// Looks up some of the records that were listed, and takes over the service's versions.
    ///
    /// An answer from before the version that was met is of a replica that lags behind: it is left for
    /// the next round.
    func lookUp(_ places: Range<Int>) async throws {
        let part = Array(exchange.progress.missed[places])
        let results = try await answers(part)
        let place = exchange.place
        let (selection, now) = (
            exchange.configuration.selection, exchange.scope.clock.milliseconds
        )
        exchange.note(
            try await exchange.merge { merger, merged in
                let lookup = LookupMerger(
                    merger: merger, selection: try selection.bound(to: merger.reader),
                    completes: try merger.reader.zoneState(place).isCompleting == true, now: now)
                for (missed, result) in zip(part, results) {
                    try lookup.take(result, for: missed, &merged)
                }
                // While a full fetch is under way, one may have lost the value since.
                if !part.contains(where: \.isUnseen) { try merged.mergeDuplicates(merger) }
            })
        for (missed, result) in zip(part, results) {
            switch (missed, result) {
            case (.undelivered(let key), .failed(let error)),
                (.unseen(let key, _), .failed(let error)):
                exchange.noteUndelivered(key.name.description, error)
            default: break
            }
        }
    }

    /// The service's answers, one for each record. A record that is refused alone is one that was not read.
    private func answers(_ part: [StaleRecord]) async throws -> [LookupResult] {
        let names = part.map(\.key.name.description)
        do throws(ServiceError) {
            let results = try await exchange.service.lookUpRecords(names, in: exchange.zone)
            guard results.count == names.count else {
                throw ServiceError.oddCount(results.count, of: names.count)
            }
            return results
        } catch {
            guard names.count == 1, error.code.scope == .record else { throw error }
            return [.failed(error)]
        }
    }
}

/// Takes over what the service answered to look-ups, within one write.
private struct LookupMerger {
    let merger: RecordMerger
    let selection: BoundSelection
    /// Whether a full fetch stores fields that were not asked for before.
    let completes: Bool
    let now: Int64

    func take(
        _ result: LookupResult, for missed: StaleRecord, _ merged: inout MergeResults
    ) throws {
        let log = merger.log
        switch (missed, result) {
        case (.version(let key, let time, _), .found(let record))
        where record.modifiedMilliseconds >= time:
            merged.note(try merger.merge(record, isAuthoritative: true), key)
            try log.forgetNote(.missed, key)
        case (.version(let key, _, isDoubted: true), .notFound):
            try log.forgetNote(.missed, key)
        case (.incomplete(let key), .found(let record)):
            merged.note(try merger.completeAgain(record), key)
        case (.undelivered(let key), _):
            try take(result, ofUndelivered: key, &merged)
        case (.unseen(let key, let entityName), _):
            try take(result, ofUnseen: key, entityName, &merged)
        default:
            // What is not found was deleted since, which the feed tells.
            break
        }
    }

    private func take(
        _ result: LookupResult, ofUndelivered key: RecordKey, _ merged: inout MergeResults
    ) throws {
        let records = UndeliveredRecords(log: merger.log)
        switch result {
        case .found(let record):
            // One that can't be stored stays noted.
            guard let isNews = try takeFound(record, &merged) else { break }
            _ = try records.settles(.found, of: key, isNews: isNews, now: now)
        case .notFound:
            guard try records.settles(.absent, of: key, isNews: false, now: now) else { break }
            for table in merger.log.catalog.tables
            where try merger.log.row(table.number, key)?.hasChangeTag == true {
                let isSent = try merger.wasSent(key)
                merged.note(try merger.mergeAbsent(table, key, isSent: isSent), key)
            }
        case .failed(let error):
            try records.note(error, of: key, now: now)
        }
    }

    private func take(
        _ result: LookupResult, ofUnseen key: RecordKey, _ entityName: String,
        _ merged: inout MergeResults
    ) throws {
        let records = UndeliveredRecords(log: merger.log)
        switch result {
        case .found(let record):
            guard try takeFound(record, &merged) != nil else { break }
            // The list and this answer contradict each other, and a replica behind may have given either.
            _ = try records.settles(.found, of: key, isNews: true, now: now)
        case .notFound:
            let isSent = try merger.wasSent(key)
            merged.note(
                try merger.mergeAbsent(key, recordType: entityName, isSent: isSent), key)
        case .failed(let error):
            try records.note(error, of: key, now: now)
        }
        try FullFetch(merger.log, in: key.zone).markSeen(key.name.description)
    }

    /// Takes over a version as a page's, if records of its type are pulled.
    ///
    /// - Returns: Whether the record was another one here before; nil if it can't be stored.
    private func takeFound(
        _ record: ServiceRecord, _ merged: inout MergeResults
    ) throws -> Bool? {
        guard selection.pulls(merger.log.catalog.table(named: record.recordType)) else {
            return false
        }
        if completes { try merger.complete(record) }
        let result = try merger.merge(record)
        merged.note(result, merger.key(record.recordName))
        switch result {
        case .applied, .conflict:
            try merger.log.marks.releaseReferrers(
                to: [merger.key(record.recordName)])
            return true
        case .unchanged, .parked, .undecided, .unnumbered: return false
        case .rejected: return nil
        }
    }
}
