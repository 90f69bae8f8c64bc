import BackstitchCore
import BackstitchLog

/// What a transaction of merges did.
struct MergeResults: Sendable {
    var changes = ChangeSet()
    /// The versions that were known here already.
    var unchanged = 0
    /// The operations that settled conflicts.
    var conflicts: [UInt64] = []
    /// The records that can't be stored: why, and whether they are noted to be looked up again.
    private(set) var rejected: [(key: RecordKey, reason: String, isUndelivered: Bool)] = []
    var parked: [ParkedRecord] = []
    /// Records that were refused and not parked, because they have later edits.
    var editedSince: Set<StoredRecordID> = []
    /// Whether there were more duplicates than one transaction looks at.
    var leavesDuplicates = false
    /// What the application has to decide before anything can be written.
    var undecided: [ConflictKey: ConflictQuestion] = [:]

    /// Makes records one that arrived with the same unique values.
    mutating func mergeDuplicates(_ merger: RecordMerger) throws {
        let (merged, isDone) = try DuplicateMerger(merger).mergeNoted()
        for merged in merged {
            note(.conflict(sequence: merged.sequence), merged.key)
        }
        leavesDuplicates = !isDone
    }

    mutating func note(_ result: MergeResult, _ record: RecordKey) {
        switch result {
        case .unchanged:
            unchanged += 1
        case .applied:
            break
        case .conflict(let sequence):
            conflicts.append(sequence)
        case .parked(let record):
            parked.append(record)
        case .undecided(let key, let question):
            undecided[key] = question
        case .rejected(let reason):
            // No record here has an impossible name.
            rejected.append(
                (key: record, reason: reason, isUndelivered: record.name.violation == nil))
        case .unnumbered(let reason):
            rejected.append((key: record, reason: reason, isUndelivered: false))
        }
    }

    /// Notes the records that can't be stored, so that they are looked up again.
    func noteRejected(in merger: RecordMerger, now: Int64) throws {
        let records = UndeliveredRecords(log: merger.log)
        for record in rejected where record.isUndelivered {
            try records.noteRejected(record.key, now: now)
        }
    }
}
