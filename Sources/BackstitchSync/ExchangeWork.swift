import BackstitchCore
import BackstitchLog
import BackstitchStore

/// What a service gives in pages, each with a token.
enum Feed: Hashable {
    case database
    case zone
}

/// What an exchange has read and done so far.
final class ExchangeProgress {
    private(set) var report: SyncReport
    /// What was folded for the running pass.
    var outbox = Outbox()
    /// Records of which only the first edits were refused, because the rest was after the fold or came
    /// meanwhile. They are pushed with all of them next.
    var wholes: Set<StoredRecordID> = []
    /// The positions in the outbox of the items that the machine knows.
    var pushed: [PendingChange] = []
    /// The token of the zone's feed that the last request of a push was sent with, and the one that the service
    /// gave for it, if that is another one.
    var replacedToken: (old: String, new: String)?
    /// What is to be looked up before the next fold, by the places that the machine knows.
    var missed: [StaleRecord] = []
    /// What was listed to be looked up, which is done once.
    var lookedUp: Set<StaleRecord> = []
    /// When a record is to be looked up that the service could not deliver; nil if none is left.
    var dueMilliseconds: Int64?
    /// The names of the records whose ends pushes of this round made or met: the next pull has them.
    var ended: Set<RecordName> = []
    /// The names of the records that this round noted before it sent them: no request before may have made
    /// them on the service.
    var firstSent: Set<RecordName> = []
    /// The names of the records that the service could not deliver or take by themselves.
    private var undelivered: Set<String> = []
    /// The names of the records that can't be stored.
    private var rejected: Set<String> = []
    /// Where the run of the log begins that is folded.
    var foldStart: UInt64 = 0
    /// The last operation that was looked at to raise the outbox's floor.
    var floorLooked: UInt64 = 0
    /// Whether the service told that the zone changed.
    var isZoneChanged = false
    /// Hashes of the tokens of the pages that were to be continued.
    private var metTokens: Set<Int> = []
    /// How many of these pages had a token that was met before.
    private var repeatedTokens = 0
    private static let repeatedTokensMax = 8
    /// The names of the records that wait for files, so that the outbox's floor stays before them.
    private(set) var waiting: Set<String> = []
    /// How many records there are to push; nil before that is known.
    var pushTotal: Int?

    init(_ trigger: SyncTrigger) {
        report = SyncReport(trigger: trigger, changes: ChangeSet())
    }

    /// Forgets what was read, and gives its memory back. The report stays.
    func beginAgain() {
        outbox = Outbox()
        wholes = []
        ended = []
        firstSent = []
        dropPass()
        missed = []
        lookedUp = []
        dueMilliseconds = nil
        undelivered = []
        rejected = []
        (foldStart, floorLooked) = (0, 0)
        isZoneChanged = false
        beginFeeds()
        repeatedTokens = 0
        pushTotal = nil
        waiting = []
    }

    /// Forgets the tokens that were met, because a feed is read from its beginning.
    func beginFeeds() { metTokens = [] }

    /// Whether a feed is stuck after a page that is to be continued: a service may give a token again some
    /// times, at once or in turn with others, and would be asked without end if it always did.
    func isStuck(in feed: Feed, at token: String, after last: String?) -> Bool {
        var hasher = Hasher()
        hasher.combine(feed)
        hasher.combine(token)
        let isNew = metTokens.insert(hasher.finalize()).inserted
        guard !isNew || token == last else { return false }
        repeatedTokens += 1
        return repeatedTokens > Self.repeatedTokensMax
    }

    /// Gives the memory of what was folded back.
    func dropPass() {
        outbox.changes = []
        pushed = []
        replacedToken = nil
    }

    func notePulled(_ records: Int, echoed: Int) {
        report.pulledRecords += records
        report.echoedRecords += echoed
    }

    /// Notes the files that records of a pass wait for.
    func noteWaiting(_ uploads: [AssetUpload], records: Set<String>) {
        waiting.formUnion(records)
        report.recordsWaitingForFiles = waiting.count
        let known = Set(report.uploads)
        report.uploads += uploads.filter { !known.contains($0) }
    }

    /// Notes a record that the service could not deliver or take.
    func noteUndelivered(_ recordName: String) {
        undelivered.insert(recordName)
        report.undeliveredRecords = undelivered.count
    }

    /// Notes that a feed has more and does not move on.
    func noteStuck() { report.hasMoreToPull = true }

    /// Notes a record that can't be stored.
    func noteRejected(_ recordName: String, _ isUndelivered: Bool) {
        rejected.insert(recordName)
        report.rejectedRecords = rejected.count
        if isUndelivered { noteUndelivered(recordName) }
    }

    func notePushed(_ records: Int) { report.pushedRecords += records }

    /// Adds what a transaction did to the report, and tells of it.
    func note(_ results: MergeResults, of scope: EngineContext) {
        report.changes.add(results.changes)
        report.conflicts += results.conflicts.count
        for sequence in results.conflicts {
            // A journal that can't be read is told by whoever reads it.
            guard
                let conflict = try? scope.store.read({ try RecordConflict(at: sequence, $0.reader) }
                )
            else { continue }
            scope.events.send(.conflict(conflict))
        }
        for record in results.rejected { noteRejected(record.name, record.isUndelivered) }
        for record in results.rejected {
            scope.events.send(.rejected(recordName: record.name, reason: record.reason))
        }
        report.parkedRecords += results.parked.count
        for record in results.parked { scope.events.send(.parked(record)) }
        scope.events.send(
            .progress(
                pulledRecords: report.pulledRecords, pushedRecords: report.pushedRecords,
                pushTotal: pushTotal))
    }
}

/// What a step of an exchange works with.
struct ExchangeWork {
    let leased: LeasedStore
    let progress: ExchangeProgress
    /// The round as it was when the step began.
    let round: Round

    var store: Store { leased.store }
    var service: any RecordService { leased.service }
    var scope: EngineContext { leased.scope }

    /// Merges in one transaction. If the application has to decide, it is asked in between.
    func merge(
        _ body: @escaping @Sendable (RecordMerger, inout MergeResults) throws -> Void
    ) async throws -> MergeResults {
        try await ResolvedMerge(leased, prefersLocal: round.prefersLocal).run(body)
    }

    func note(_ results: MergeResults) { progress.note(results, of: scope) }

    /// Reports a record that the service could not deliver or take by itself.
    func noteUndelivered(_ recordName: String, _ error: ServiceError) {
        progress.noteUndelivered(recordName)
        // No note can stand for an impossible name.
        if RecordName(recordName).violation != nil { progress.noteRejected(recordName, false) }
        scope.events.send(.undelivered(recordName: recordName, error))
    }
}
