package import BackstitchCore
package import BackstitchStore

/// An independent account of a device's log: what every record is, what the service is known to
/// have of it, and what became of each local operation.
///
/// It shares no code with the engine's fold, merge and projector. It checks, operation by operation:
/// - each local operation and each rebase is unsynced, or acknowledged, or superseded by an operation
///   that carries a conflict report: nothing is lost in silence;
/// - the base is true: after whatever the service said, the fields at the synced sequence are those
///   of the version with that change tag, unknown fields included. So a local edit counts as synced
///   only if a version of the service really had it;
/// - a conflict report tells base, local version and service's version as they were, is no conflict
///   with what the device wrote or had, and ends as the policy says;
/// - a record that ends without one takes no edits with it, and edits leave unknown fields alone;
/// - a record that the service had ends only if somebody ended it: a commit that the service lost ends none;
/// - within one life of a zone the base never goes back to an older version. A client can't tell a
///   stale answer to a full fetch from a backup that was restored, so that this is not asked if
///   there are stale answers: there the feed has to make up for it, which the end of a run shows.
package struct LogAccount {
    private(set) var entries: [StoredRecordID: RecordAccount] = [:]
    package private(set) var problems: [String] = []
    /// The names of the records that the problems are of.
    package internal(set) var doubtful: [String] = []
    /// The local operations, by what became of them.
    package private(set) var localOperations = 0
    package private(set) var acknowledged = 0
    /// The operations that the service never gets. They do not count as local ones.
    package private(set) var localOnlyOperations = 0
    package private(set) var superseded = 0
    package private(set) var conflicts = 0
    /// A digest of everything in the log.
    package private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    /// The values that local operations wrote, by record and field.
    package private(set) var written: [String: Set<ServiceValue>] = [:]

    /// The records that ended as duplicates of others.
    var duplicates = 0
    /// What is due before the transaction ends.
    var merging = Merging()

    private var rules: LogRules
    /// The last operation that was read.
    private var through: UInt64 = 0

    /// Reads a log.
    ///
    /// A log that was compacted does not tell what went before. Its account goes on from the one that
    /// was taken before that, so that it knows nothing from baselines, and is as strict as ever.
    ///
    /// - Parameters:
    ///   - earlier: The account of the same log at an earlier moment.
    ///   - version: The version of a record that the service gave a change tag to.
    ///   - mayGoBack: Whether the service was put back to a backup, or answers from old states.
    ///   - expectation: What else is asked of it.
    package init(
        _ reader: TableReader, after earlier: LogAccount? = nil, mayGoBack: Bool,
        expectation: Expectation = Expectation(),
        version: @escaping (String) -> ServiceRecord?
    ) throws {
        let rules = LogRules(
            catalog: reader.catalog, expectation: expectation, mayGoBack: mayGoBack,
            firstLogged: try LogHorizon(reader).compaction.through + 1, version: version)
        self.rules = rules
        if let earlier { self = earlier }
        self.rules = rules
        try reader.log.visit(from: through + 1) { operation in
            try add(operation)
            through = operation.sequence
            return true
        }
        endMerging()
        if let place = owing, let entry = entries[place], let owed = entry.owed {
            note(
                owed.transaction, entry,
                "the local operations \(owed.sequences) are lost without a conflict report")
        }
    }

    /// What else a log is held to, if it is known.
    package struct Expectation {
        /// The policy of the device's engine.
        package var policy: ConflictPolicy?
        /// What the device's engine does if one side deleted a record.
        package var deletePolicy = ConflictRules.DeletePolicy.followPolicy
        /// Whether the device erased its records after the loss of a zone.
        package var mayErase = true
        /// Whether transactions are undone, so that edits bring back fields that are not declared.
        package var mayUndo = false
        /// Whether edits are given up on purpose, for the version that is known.
        package var mayRevert = true
        /// Whether the version with a change tag was written by the device itself.
        package var isOwn: (String) -> Bool = { _ in false }
        /// Takes the change tag of a version of a record, and says whether somebody has ended that record.
        package var wasEnded: (String) -> Bool = { _ in true }
        /// Whether the service's record began, or began anew, with the version of a change tag.
        package var isFirst: (String) -> Bool = { _ in false }

        /// Nothing more.
        package init() {}
    }

    var catalog: CatalogSnapshot { rules.catalog }

    /// The records that exist, sorted by name.
    package var records: [RecordAccount] {
        entries.values.filter { $0.fields != nil }.sorted {
            ($0.recordName, $0.entity.rawValue) < ($1.recordName, $1.entity.rawValue)
        }
    }

    /// The records with operations that wait.
    package var dirty: [RecordAccount] { entries.values.filter(\.isDirty) }

    mutating func note(_ sequence: UInt64, _ entry: RecordAccount, _ problem: String?) {
        guard let problem else { return }
        let name = catalog.table(entry.entity)?.name ?? "?"
        doubtful.append(entry.recordName)
        problems.append("operation \(sequence) of \(name) \(entry.recordName): \(problem)")
    }

    private mutating func mix(_ bits: UInt64) {
        digest = (digest ^ bits) &* 0x100_0000_01B3
        digest ^= digest >> 29
    }

    private mutating func add(_ operation: OperationView) throws {
        mix(operation.sequence)
        mix(UInt64(operation.kind.rawValue) << 8 | UInt64(operation.origin.rawValue))
        mix(operation.clock)
        unsafe operation.keyBytes.forEach { mix(UInt64($0)) }
        try payOwed(before: operation)
        if operation.transaction != merging.transaction { endMerging() }
        let place = StoredRecordID(entity: operation.entity, key: try operation.key)
        var entry =
            entries[place]
            ?? RecordAccount(entity: operation.entity, recordName: place.key.name.description)
        let before = LogRules.Standing(entry)
        let fields = entry.fields
        let tag = operation.stamp?.changeTag ?? ""
        entry.isConfirmed =
            operation.kind == .acknowledge && !tag.isEmpty && tag != entry.changeTag
        if operation.kind.changesContent { try change(operation, &entry) }
        if unsafe operation.conflictBytes != nil { conflicts += 1 }
        try end(duplicate: place, entry, with: fields, operation)
        note(operation.sequence, entry, try rules.problem(ofLocal: operation, entry))
        if let stamp = operation.stamp {
            for byte in stamp.changeTag.utf8 { mix(UInt64(byte)) }
            note(
                operation.sequence, entry, rules.problem(ofEnd: operation, entry, after: before))
            note(operation.sequence, entry, rules.problem(ofLoss: operation, entry))
            try settle(operation, stamp, &entry, after: before)
        }
        switch operation.kind {
        case .park: entry.isParked = true
        case .release: entry.isParked = false
        case .forget:
            // All of it is uploaded, as it is here.
            if let fields = entry.fields { noteWritten(entry, fields) }
            entry.synced = 0
            entry.changeTag = ""
        case .baseline, .journal:
            note(operation.sequence, entry, "is compacted before there was an account of it")
        case .insert, .update, .delete, .acknowledge: break
        }
        entries[place] = entry
        goOnMerging(place, operation)
    }

    /// The record that owes a rebase; each rebase directly follows what it stands on.
    private var owing: StoredRecordID?

    private mutating func payOwed(before operation: OperationView) throws {
        guard let place = owing, var entry = entries[place], let owed = entry.owed else { return }
        owing = nil
        entry.owed = nil
        let isRebase = operation.origin == .rebase && operation.transaction == owed.transaction
        if isRebase, operation.entity == place.entity, try operation.key == place.key {
            var after = entry
            let count = problems.count
            try change(operation, &after)
            problems.removeLast(problems.count - count)
            if !areSame(owed.fields, after) {
                note(
                    operation.sequence, entry,
                    "the local operations \(owed.sequences) are not brought back as they were: "
                        + differences(owed.fields, after).joined(separator: "; or "))
            }
        } else {
            note(
                operation.sequence, entry,
                "the local operations \(owed.sequences) are lost without a conflict report")
        }
        entries[place] = entry
    }

    /// Whether a record has fields that may be due, as far as the service can tell.
    private func areSame(_ candidates: [Fields?], _ entry: RecordAccount) -> Bool {
        guard let own = entry.fields, let table = catalog.table(entry.entity) else {
            return candidates.contains { ($0 == nil) == (entry.fields == nil) }
        }
        let form = WireForm.fields(own, table)
        return candidates.contains { $0.map { WireForm.fields($0, table) == form } ?? false }
    }

    /// What is otherwise than each of the fields that may be due, in words.
    private func differences(_ candidates: [Fields?], _ entry: RecordAccount) -> [String] {
        guard let table = catalog.table(entry.entity) else { return [] }
        let form = entry.fields.map { WireForm.fields($0, table) } ?? [:]
        return candidates.compactMap {
            WireForm.difference(form, $0.map { WireForm.fields($0, table) } ?? [:])
        }
    }

    private mutating func change(_ operation: OperationView, _ entry: inout RecordAccount) throws {
        let step = try OperationStep(operation)
        var fields = entry.fields
        switch step.change {
        case .insert(let all):
            if fields != nil { note(step.sequence, entry, "inserts what exists") }
            fields = all.withoutNulls
            if operation.origin == .local { noteWritten(entry, all) }
        case .update(_, let after):
            if fields == nil { note(step.sequence, entry, "updates what does not exist") }
            fields?.overlay(after)
            fields = fields?.withoutNulls
            // An edit of a record that the service does not know brings all of it.
            if operation.origin == .local {
                noteWritten(entry, entry.staysHere ? fields ?? after : after)
            }
        case .delete:
            if fields == nil { note(step.sequence, entry, "deletes what does not exist") }
            fields = nil
        }
        // A record that begins after its end was settled has a row of its own.
        if !entry.isThere || entry.isEvicted {
            entry.lives += 1
            entry.synced = entry.isThere ? entry.synced : 0
            entry.changeTag = ""
            entry.lastTag = ""
        }
        entry.isThere = true
        entry.isParked = false
        entry.isEvicted = false
        if operation.origin == .localOnly { keep(step, &entry) }
        entry.states.append((step.sequence, fields, operation.clock))
        if operation.origin == .local { localOperations += 1 }
        if operation.stamp == nil, operation.origin != .localOnly {
            entry.waiting.append(step.sequence)
        }
    }

    /// Takes in what stays on this device; what waits for the service forbids it.
    private mutating func keep(_ step: OperationStep, _ entry: inout RecordAccount) {
        localOnlyOperations += 1
        if !entry.waiting.isEmpty {
            note(step.sequence, entry, "stays on this device in front of what is to be pushed")
        }
        entry.synced = step.sequence
        switch step.change {
        case .insert(let fields):
            entry.keeping.append((step.sequence, entry.kept.union(fields.ids)))
        case .update(_, let after):
            entry.keeping.append((step.sequence, entry.kept.union(after.ids)))
        case .delete:
            entry.isThere = !entry.changeTag.isEmpty
            entry.isEvicted = entry.isThere
        }
    }

    /// Notes values that may be on the service from now on.
    mutating func noteWritten(_ entry: RecordAccount, _ fields: Fields) {
        guard let table = catalog.table(entry.entity) else { return }
        for (name, value) in WireForm.fields(fields, table) {
            written["\(entry.recordName).\(name)", default: []].insert(value)
        }
    }

    /// What a record may be once the edits that wait are brought back on what the service said.
    private func due(
        _ operation: OperationView, _ entry: RecordAccount, before: [UInt64],
        acknowledgedThrough: UInt64
    ) -> [Fields?] {
        var bases = [(entry.synced, before), (acknowledgedThrough, entry.waiting)]
        // A record that began here to stay is pushed as a whole.
        if entry.staysHere { bases.append((0, before)) }
        guard let table = catalog.table(entry.entity) else { return bases.map { _ in nil } }
        var due = bases.map { base, operations in
            entry.rebased(at: operation.sequence, base: base, operations, table)
        }
        due.append(entry.followed(due[1], byFilesOf: due[0], at: operation, table))
        return due + due.map { entry.closingCircles($0, at: operation, table) }
    }

    /// The fields that stay on this device behind a version of the service: if it is the device's own
    /// edit, without files that are to follow, those that it does not change. A field that only goes back to
    /// what it was in that edit was edited, or deleted with the record, while the edit was pushed.
    private func keptBehind(
        _ operation: OperationView, _ stamp: SyncStamp, _ entry: RecordAccount
    ) throws -> Set<FieldID> {
        guard rules.expectation.isOwn(stamp.changeTag), operation.kind.changesContent,
            stamp.acknowledgedThrough > entry.synced, let table = catalog.table(entry.entity)
        else { return [] }
        let files = table.attributes.filter { $0.schema?.isAfterwards == true }.map(\.field)
        let kept = entry.kept(at: stamp.acknowledgedThrough)
        let pushed = entry.fields(at: stamp.acknowledgedThrough) ?? Fields()
        let after = try Fields(operation.after)
        let named = operation.kind == .insert ? kept : Set(after.ids)
        let told = named.subtracting(files).filter { after.value($0) != pushed.value($0) }
        return kept.subtracting(told)
    }

    /// Takes in what the service said of a record.
    private mutating func settle(
        _ operation: OperationView, _ stamp: SyncStamp, _ entry: inout RecordAccount,
        after standing: LogRules.Standing
    ) throws {
        let isContent = operation.kind.changesContent
        let before = entry.waiting
        entry.waiting.removeAll { $0 <= stamp.acknowledgedThrough }
        acknowledged += before.count - entry.waiting.count
        let acknowledgedThrough = max(entry.synced, stamp.acknowledgedThrough)
        if isContent {
            // Edits of what the service has anyway are on it.
            if !entry.waiting.isEmpty, unsafe operation.conflictBytes == nil {
                let due = due(
                    operation, entry, before: before, acknowledgedThrough: acknowledgedThrough)
                if !areSame(due, entry) {
                    entry.owed = RecordAccount.Owed(
                        sequences: entry.waiting, transaction: operation.transaction, fields: due)
                    owing = StoredRecordID(entity: entry.entity, key: try operation.key)
                }
            }
            superseded += entry.waiting.count
            entry.waiting = []
            // What stays here does until the service has another version.
            if !stamp.changeTag.isEmpty, stamp.changeTag != entry.changeTag {
                entry.keeping.append(
                    (operation.sequence, try keptBehind(operation, stamp, entry)))
            }
            entry.synced = operation.sequence
        } else {
            entry.synced = acknowledgedThrough
            // If a version of before a forget is back, so is what stayed here then.
            if stamp.changeTag != entry.changeTag {
                let isBack = entry.changeTag.isEmpty
                let kept = isBack ? entry.kept(at: acknowledgedThrough) : entry.kept
                entry.keeping.append((operation.sequence, kept))
            }
        }
        let tagBefore = entry.changeTag
        entry.changeTag = stamp.changeTag
        if !stamp.changeTag.isEmpty { entry.lastTag = stamp.changeTag }
        if entry.changeTag.isEmpty { entry.isEvicted = false }
        let report = try unsafe operation.conflictBytes.map {
            try unsafe ConflictReport(reading: $0)
        }
        // What wins as a whole brings all of the record.
        if let outcome = report?.outcome { noteWritten(entry, outcome) }
        for problem in rules.problems(
            ofBase: operation, report, entry, tagBefore: tagBefore, after: standing)
        {
            note(operation.sequence, entry, problem)
        }
        if entry.fields == nil, !(entry.lastSequence > entry.synced) {
            entry.isThere = false
            entry.isParked = false
        }
        if entry.lastSequence <= entry.synced { entry.isParked = false }
    }
}
