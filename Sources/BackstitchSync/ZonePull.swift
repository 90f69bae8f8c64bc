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
        let isStuck =
            page.moreComing && work.progress.isStuck(in: .database, at: page.token, after: token)
        if isStuck { work.progress.noteStuck() }
        if isChanged { work.progress.isZoneChanged = true }
        try await work.leased.change { state in
            state.databaseToken = page.token
            // The end is told once: should it be forgotten in a crash, the pull meets it again.
            if isChanged || ended != nil { state.needsPull = true }
        }
        return .databaseChanges(
            zoneChanged: isChanged, zoneEnded: ended.map(\.code),
            moreComing: page.moreComing && !isStuck)
    }

    func fetchZoneChanges() async throws -> SyncEvent {
        let name = work.leased.zoneName
        let state = try work.scope.zoneState()
        let page = try await work.service.zoneChanges(
            in: work.scope.zone, since: state.zoneToken,
            limit: work.round.exchange.limits.recordsPerPage,
            fields: state.fetchedFields.map(Set.init),
            types: work.scope.configuration.selection.wantedTypes)
        // The next round asks again.
        let isStuck =
            page.moreComing
            && work.progress.isStuck(in: .zone, at: page.token, after: state.zoneToken)
        if isStuck, state.isFullFetch {
            // Records that did not come yet would be taken for deleted.
            throw ServiceError(
                .serviceUnavailable, "more changes are to come, and the service repeats its token")
        }
        if isStuck { work.progress.noteStuck() }
        let (selection, isZoneChanged, now) = (
            work.scope.configuration.selection, work.progress.isZoneChanged,
            work.scope.clock.milliseconds
        )
        let failures = page.failures.sorted { $0.key < $1.key }
        let results = try await work.merge { merger, results in
            let log = merger.log
            var state = try log.reader.zoneState(name)
            let selection = try selection.bound(to: log.reader)
            try log.catalogChanges.numberTables(named: Set(page.records.map(\.recordType)))
            let undelivered = UndeliveredRecords(log: log)
            let fetch = FullFetch(log, in: merger.zone)
            func end(_ deletion: ServiceDeletion) throws {
                try undelivered.forget(merger.key(deletion.recordName))
                if state.isFullFetch {
                    // The list has the ends of earlier lives too: the sweep looks at what is here.
                    return try fetch.markUnseen(deletion.recordName)
                }
                let table = deletion.recordType.flatMap { log.catalog.table(named: $0) }
                guard deletion.recordType == nil || selection.pulls(table) else { return }
                let key = merger.key(deletion.recordName)
                results.note(
                    try merger.mergeEnd(of: key, recordType: deletion.recordType), key.name,
                    deletion.recordType ?? "")
            }
            // A record comes in its latest form, so that an end beside it is of a life before.
            let again = page.deletions.isEmpty ? [] : Set(page.records.map(\.recordName))
            for deletion in page.deletions where again.contains(deletion.recordName) {
                try end(deletion)
            }
            for record in page.records {
                try undelivered.forget(merger.key(record.recordName))
                if state.isFullFetch { try fetch.markSeen(record.recordName) }
                guard selection.pulls(log.catalog.table(named: record.recordType)) else { continue }
                if state.isCompleting == true { try merger.complete(record) }
                results.note(
                    try merger.merge(record, isAuthoritative: state.isFullFetch),
                    RecordName(record.recordName), record.recordType)
            }
            for deletion in page.deletions where !again.contains(deletion.recordName) {
                try end(deletion)
            }
            for (name, error) in failures {
                // It is there, whatever it is.
                if state.isFullFetch { try fetch.markSeen(name) }
                try undelivered.note(error, of: merger.key(name), now: now)
            }
            try log.marks.releaseReferrers(
                to: Set(page.records.map { merger.key($0.recordName) }))
            if !page.moreComing, !state.isFullFetch { try results.mergeDuplicates(merger) }
            // A page that tells nothing of the change that there is comes from a replica behind.
            let isBehind = isZoneChanged && state.zoneToken == page.token
            state.zoneToken = page.token
            state.needsPull =
                page.moreComing || state.isFullFetch || isBehind || results.leavesDuplicates
            try log.setZoneState(state, name)
        }
        work.progress.notePulled(
            page.records.count + page.deletions.count - results.rejected.count,
            echoed: results.unchanged)
        for (name, error) in failures { work.noteUndelivered(name, error) }
        try await noteAndMergeDuplicates(results)
        return .zoneChanges(
            moreComing: page.moreComing && !isStuck, isFullFetch: state.isFullFetch)
    }

    func beginFullFetch() async throws {
        let (name, slot) = (work.leased.zoneName, work.scope.slot)
        try await work.leased.write { context in
            var state = try context.reader.zoneState(name)
            state.beginFullFetch()
            try FullFetch(context, in: slot).forgetFetched()
            try context.setZoneState(state, name)
        }
    }

    /// Ends a full fetch, once each record that it did not list was looked up.
    ///
    /// A record that the service does not have was merged then as though the feed had told its end: it was
    /// deleted if it was not edited here, and the policy decided if it was. Edited ones can't just stay
    /// until they are pushed: edits that are taken back before that leave nothing to push, and the record
    /// would pass for one that the service has.
    func sweep() async throws -> SyncEvent {
        if let unseen = try StaleLookup(work).findUnseen() {
            try await checkHistory()
            return unseen
        }
        let name = work.leased.zoneName
        let results = try await work.merge { merger, results in
            try FullFetch(merger.log, in: merger.zone).end()
            try results.mergeDuplicates(merger)
            var state = try merger.log.reader.zoneState(name)
            state.isFullFetch = false
            state.tokenBefore = nil
            state.isCompleting = nil
            // A replica may have been behind, which the first token can't tell: the next round asks.
            state.needsPull = true
            try merger.log.setZoneState(state, name)
        }
        try await noteAndMergeDuplicates(results)
        return .done
    }

    /// Asks with the token of before the full fetch, by which the service knows whether it lost commits that this
    /// device has seen or made. Then what the fetch did not list was not deleted.
    ///
    /// - Throws: `zoneNotFound` if it lost some.
    private func checkHistory() async throws {
        guard let token = try work.scope.zoneState().tokenBefore else { return }
        do throws(ServiceError) {
            _ = try await work.service.zoneChanges(
                in: work.scope.zone, since: token, limit: 1, fields: [])
        } catch {
            // A token that is too old is one of the history that the service has.
            guard error.code.retry == .after(.newToken) else { throw error }
        }
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
