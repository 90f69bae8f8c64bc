import BackstitchCore
import BackstitchLog
import BackstitchStore

/// What the exchange that runs has done so far, or the last one did, with all zones.
final class RoundReport {
    private(set) var value = SyncReport(trigger: .manual, changes: ChangeSet())
    /// How many records there are to push; nil before that is known.
    private var pushTotal: Int?
    /// The records that wait for files.
    private var waiting: Set<RecordKey> = []
    /// The records that the service could not deliver or take by themselves.
    private var undelivered: Set<RecordKey> = []
    /// The records that can't be stored.
    private var rejected: Set<RecordKey> = []

    /// Begins the report of an exchange.
    func begin(_ trigger: SyncTrigger) {
        value = SyncReport(trigger: trigger, changes: ChangeSet())
        beginAgain()
    }

    /// Forgets which records were counted. The report stays.
    func beginAgain() {
        pushTotal = nil
        waiting = []
        undelivered = []
        rejected = []
    }

    func notePulled(_ records: Int, echoed: Int) {
        value.pulledRecords += records
        value.echoedRecords += echoed
    }

    func notePushed(_ records: Int) { value.pushedRecords += records }

    /// Notes how many records a pass has.
    ///
    /// - Parameters:
    ///   - isWhole: Whether there are no more.
    ///   - pending: Counts those of the store, if that was not done yet.
    func noteItems(_ items: Int, isWhole: Bool, pending: () throws -> Int) rethrows {
        guard items > 0 else { return }
        if isWhole {
            pushTotal = max(pushTotal ?? 0, value.pushedRecords + items)
        } else if pushTotal == nil {
            pushTotal = try pending()
        }
    }

    /// Notes the files that records of a pass wait for.
    func noteWaiting(_ uploads: [AssetUpload], records: Set<RecordKey>) {
        waiting.formUnion(records)
        value.recordsWaitingForFiles = waiting.count
        let known = Set(value.uploads)
        value.uploads += uploads.filter { !known.contains($0) }
    }

    /// Notes a record that the service could not deliver or take.
    func noteUndelivered(_ record: RecordKey) {
        undelivered.insert(record)
        value.undeliveredRecords = undelivered.count
    }

    /// Notes that a feed has more and does not move on.
    func noteStuck() { value.hasMoreToPull = true }

    /// Notes a record that can't be stored.
    func noteRejected(_ record: RecordKey, _ isUndelivered: Bool) {
        rejected.insert(record)
        value.rejectedRecords = rejected.count
        if isUndelivered { noteUndelivered(record) }
    }

    /// Adds what a transaction did to the report, and tells of it.
    func note(_ results: MergeResults, of scope: EngineContext) {
        value.changes.add(results.changes)
        value.conflicts += results.conflicts.count
        for sequence in results.conflicts {
            // A journal that can't be read is told by whoever reads it.
            guard
                let conflict = try? scope.store.read({ try RecordConflict(at: sequence, $0.reader) }
                )
            else { continue }
            scope.events.send(.conflict(conflict))
        }
        for record in results.rejected {
            noteRejected(record.key, record.isUndelivered)
            scope.events.send(
                .rejected(recordName: record.key.name.description, reason: record.reason))
        }
        value.parkedRecords += results.parked.count
        for record in results.parked { scope.events.send(.parked(record)) }
        scope.events.send(
            .progress(
                pulledRecords: value.pulledRecords, pushedRecords: value.pushedRecords,
                pushTotal: pushTotal))
    }
}
