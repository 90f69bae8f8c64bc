import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Pulls what the service has, a page and its token in one transaction.
struct ZonePull {
    private let work: ExchangeWork

    init(_ work: ExchangeWork) { self.work = work }

    func fetchDatabaseChanges() async throws -> SyncEvent {
        let zone = work.scope.zone
        let token = try work.scope.zoneState().databaseToken
        let page = try await work.service.databaseChanges(since: token)
        let isChanged = page.changedZones.contains(zone)
        let ended = page.endedZones[zone]
        let isStuck = page.moreComing && work.progress.isStuck(at: page.token, after: token)
        if isChanged { work.progress.isZoneChanged = true }
        try await work.session.change { state in
            state.databaseToken = page.token
            // The end is told once: should it be forgotten in a crash, the pull meets it again.
            if isChanged || ended != nil { state.needsPull = true }
        }
        return .databaseChanges(
            zoneChanged: isChanged, zoneEnded: ended.map(\.code),
            moreComing: page.moreComing && !isStuck)
    }

    func fetchZoneChanges() async throws -> SyncEvent {
        let name = work.session.zoneName
        let state = try work.scope.zoneState()
        let page = try await work.service.zoneChanges(
            in: work.scope.zone, since: state.zoneToken,
            limit: work.round.exchange.limits.recordsPerPage,
            fields: state.fetchedFields.map(Set.init))
        // The next round asks again.
        let isStuck =
            page.moreComing && work.progress.isStuck(at: page.token, after: state.zoneToken)
        if isStuck, state.isFullFetch {
            // Records that did not come yet would be taken for deleted.
            throw ServiceError(
                .serviceUnavailable, "more changes are to come, and the service repeats its token")
        }
        let (selection, isZoneChanged) = (
            work.scope.configuration.selection, work.progress.isZoneChanged
        )
        let results = try await work.merge { merger, results in
            let log = merger.log
            var state = try log.reader.zoneState(name)
            let selection = try selection.bound(to: log.reader)
            try log.catalogChanges.numberTables(named: Set(page.records.map(\.recordType)))
            for record in page.records {
                if state.isFullFetch { try FullFetch(log).markSeen(record.recordName) }
                guard selection.pulls(log.catalog.table(named: record.recordType)) else { continue }
                if state.isCompleting == true { try merger.complete(record) }
                results.note(
                    try merger.merge(record, isAuthoritative: state.isFullFetch),
                    RecordName(record.recordName), record.recordType)
            }
            for deletion in page.deletions {
                let table = deletion.recordType.flatMap { log.catalog.table(named: $0) }
                guard selection.pulls(table) else { continue }
                let key = RecordKey(RecordName(deletion.recordName))
                results.note(
                    try merger.mergeEnd(of: key, recordType: deletion.recordType), key.name,
                    deletion.recordType ?? "")
            }
            try log.marks.releaseReferrers(to: Set(page.records.map { RecordName($0.recordName) }))
            if !page.moreComing, !state.isFullFetch { try results.mergeDuplicates(merger) }
            // A page that tells nothing of the change that there is comes from a replica behind.
            let isBehind = isZoneChanged && state.zoneToken == page.token
            state.zoneToken = page.token
            state.needsPull =
                page.moreComing || state.isFullFetch || isBehind || results.leavesDuplicates
            try log.setZoneState(state, name)
        }
        work.progress.notePulled(
            page.records.count + page.deletions.count, echoed: results.unchanged)
        try await noteAndMergeDuplicates(results)
        return .zoneChanges(
            moreComing: page.moreComing && !isStuck, isFullFetch: state.isFullFetch)
    }

    func beginFullFetch() async throws {
        let name = work.session.zoneName
        try await work.session.write { context in
            var state = try context.reader.zoneState(name)
            state.zoneToken = nil
            state.needsPull = true
            state.isFullFetch = true
            try FullFetch(context).forgetFetched()
            try context.setZoneState(state, name)
        }
    }

    func sweep() async throws {
        let name = work.session.zoneName
        let results = try await work.merge { merger, results in
            for swept in try FullFetch(merger.log).sweep(merger) {
                results.note(swept.result, swept.key.name, swept.entityName)
            }
            try results.mergeDuplicates(merger)
            var state = try merger.log.reader.zoneState(name)
            state.isFullFetch = false
            state.isCompleting = nil
            // A replica may have been behind, which the first token can't tell: the next round asks.
            state.needsPull = true
            try merger.log.setZoneState(state, name)
        }
        try await noteAndMergeDuplicates(results)
    }

    /// Adds what a transaction at the end of a pull did, and looks at the duplicates that it left.
    private func noteAndMergeDuplicates(_ results: MergeResults) async throws {
        work.note(results)
        guard results.leavesDuplicates else { return }
        let more = try await work.merge { merger, results in try results.mergeDuplicates(merger) }
        try await noteAndMergeDuplicates(more)
    }
}

extension DatabaseChangesPage.ZoneEnd {
    /// The failure that calls to the zone would meet.
    var code: ServiceError.Code {
        switch self {
        case .deleted: .zoneNotFound
        case .purged: .zonePurged
        case .encryptedDataReset: .encryptedDataReset
        }
    }
}
