import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Pulls what the service has, a page and its token in one transaction.
struct ZonePull {
    private let exchange: ZoneExchange

    init(_ exchange: ZoneExchange) { self.exchange = exchange }

    func fetchZoneChanges() async throws -> SyncEvent {
        let place = exchange.place
        let state = try exchange.state()
        let page = try await exchange.service.zoneChanges(
            in: exchange.zone, since: state.zoneToken,
            limit: exchange.limits.recordsPerPage,
            fields: state.fetchedFields.map(Set.init),
            types: exchange.configuration.selection.wantedTypes)
        // The next round asks again.
        let isStuck =
            page.moreComing
            && exchange.progress.isStuck(in: .zone, at: page.token, after: state.zoneToken)
        if isStuck, state.isFullFetch {
            // Records that did not come yet would be taken for deleted.
            throw ServiceError(
                .serviceUnavailable, "more changes are to come, and the service repeats its token")
        }
        if isStuck { exchange.report.noteStuck() }
        let (selection, isZoneChanged, now) = (
            exchange.configuration.selection, exchange.progress.isZoneChanged,
            exchange.scope.clock.milliseconds
        )
        let failures = page.failures.sorted { $0.key < $1.key }
        let results = try await exchange.merge { merger, results in
            let log = merger.log
            var state = try log.reader.zoneState(place)
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
                    try merger.mergeEnd(of: key, recordType: deletion.recordType), key)
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
                    merger.key(record.recordName))
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
            try log.setZoneState(state, place)
        }
        exchange.report.notePulled(
            page.records.count + page.deletions.count - results.rejected.count,
            echoed: results.unchanged)
        for (name, error) in failures { exchange.noteUndelivered(name, error) }
        try await noteAndMergeDuplicates(results)
        return .zoneChanges(
            moreComing: page.moreComing && !isStuck, isFullFetch: state.isFullFetch)
    }

    func beginFullFetch() async throws {
        let (place, slot) = (exchange.place, exchange.slot)
        try await exchange.write { context in
            var state = try context.reader.zoneState(place)
            state.beginFullFetch()
            try FullFetch(context, in: slot).forgetFetched()
            try context.setZoneState(state, place)
        }
    }

    /// Ends a full fetch, once each record that it did not list was looked up.
    ///
    /// A record that the service does not have was merged then as though the feed had told its end: it was
    /// deleted if it was not edited here, and the policy decided if it was. Edited ones can't just stay
    /// until they are pushed: edits that are taken back before that leave nothing to push, and the record
    /// would pass for one that the service has.
    func sweep() async throws -> SyncEvent {
        if let unseen = try StaleLookup(exchange).findUnseen() {
            try await checkHistory()
            return unseen
        }
        let place = exchange.place
        let results = try await exchange.merge { merger, results in
            try FullFetch(merger.log, in: merger.zone).end()
            try results.mergeDuplicates(merger)
            var state = try merger.log.reader.zoneState(place)
            state.isFullFetch = false
            state.tokenBefore = nil
            state.isCompleting = nil
            // A replica may have been behind, which the first token can't tell: the next round asks.
            state.needsPull = true
            try merger.log.setZoneState(state, place)
        }
        try await noteAndMergeDuplicates(results)
        return .done
    }

    /// Asks with the token of before the full fetch, by which the service knows whether it lost commits that this
    /// device has seen or made. Then what the fetch did not list was not deleted.
    ///
    /// - Throws: `zoneNotFound` if it lost some.
    private func checkHistory() async throws {
        guard let token = try exchange.state().tokenBefore else { return }
        do throws(ServiceError) {
            _ = try await exchange.service.zoneChanges(
                in: exchange.zone, since: token, limit: 1, fields: [])
        } catch {
            // A token that is too old is one of the history that the service has.
            guard error.code.retry == .after(.newToken) else { throw error }
        }
    }

    /// Adds what a transaction at the end of a pull did, and looks at the duplicates that it left.
    private func noteAndMergeDuplicates(_ results: MergeResults) async throws {
        exchange.note(results)
        guard results.leavesDuplicates else { return }
        let more = try await exchange.merge { merger, results in try results.mergeDuplicates(merger)
        }
        try await noteAndMergeDuplicates(more)
    }
}
