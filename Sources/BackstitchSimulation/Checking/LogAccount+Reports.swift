package import BackstitchCore
import BackstitchStore

extension LogAccount {
    /// What else a log is held to, if it is known.
    package struct Expectation {
        /// The policy of the device's engine.
        package var policy: ConflictPolicy?
        /// What the device's engine does if one side deleted a record.
        package var deletePolicy = DeletePolicy.followPolicy
        /// Whether the device erased its records after the loss of a zone.
        package var mayErase = true
        /// Whether edits are given up on purpose, for the version that is known.
        package var mayRevert = true
        /// Whether the version with a change tag was written by the device itself.
        package var isOwn: (String) -> Bool = { _ in false }
        /// Whether the service's record began, or began anew, with the version of a change tag.
        package var isFirst: (String) -> Bool = { _ in false }

        /// Nothing more.
        package init() {}
    }

    /// What was known of a record before an operation.
    struct Standing {
        let synced: UInt64
        let changeTag: String
        let isParked: Bool

        init(_ entry: Entry) {
            synced = entry.synced
            changeTag = entry.changeTag
            isParked = entry.isParked
        }
    }

    /// Edits of the application leave alone what this version of it does not know.
    mutating func checkLocal(_ operation: OperationView, _ entry: Entry) throws {
        guard operation.origin == .local, operation.kind == .update,
            let declared = catalog.table(entry.entity)?.declaredFields
        else { return }
        let fields = try Fields(operation.after).ids
        if !fields.allSatisfy(declared.contains) {
            note(operation.sequence, entry, "a local edit writes fields that it does not know")
        }
    }

    /// A record that ends without a report takes no edits with it.
    mutating func checkEnd(_ operation: OperationView, _ entry: Entry, after before: Standing) {
        guard !expectation.mayErase, operation.kind == .delete, operation.stamp != nil,
            operation.conflictBytes == nil, !entry.waiting.isEmpty,
            let mine = entry.fields(at: operation.sequence - 1),
            let table = catalog.table(entry.entity)
        else { return }
        let base = entry.fields(at: before.synced)
        if mine == base { return }
        if let difference = WireForm.difference(
            WireForm.fields(mine, table), base.map { WireForm.fields($0, table) } ?? [:])
        {
            note(
                operation.sequence, entry, "ends with edits and without a report: \(difference)")
        }
    }

    /// Whether the last edit before an operation was made later than what the service said by it. What
    /// was deleted there has no time.
    private func isLocalLater(_ entry: Entry, before operation: OperationView) -> Bool {
        guard !entry.changeTag.isEmpty, let stamp = operation.stamp else { return true }
        let last = entry.states.last { $0.sequence < operation.sequence }
        return Int64((last?.clock ?? 0) >> 16) > stamp.modifiedMilliseconds
    }

    /// A conflict is one, and ends as the policy says.
    mutating func checkConflict(
        _ operation: OperationView, _ report: ConflictReport, _ entry: Entry,
        after before: Standing
    ) {
        let isSame = !entry.changeTag.isEmpty && entry.changeTag == before.changeTag
        // What was parked may be given up for the version that is known, and so may reverted edits.
        let mayGiveUp = before.isParked || expectation.mayRevert
        if mayGiveUp, isSame || entry.changeTag.isEmpty { return }
        if isSame {
            note(operation.sequence, entry, "is in conflict with the version that it had")
        }
        // A create that is carried out after the record was known, and deleted by somebody else, makes
        // another record.
        let isAnother = !before.changeTag.isEmpty && expectation.isFirst(entry.changeTag)
        // After the loss of a zone a version is known by its fields; which of them stayed here, a
        // compacted log does not tell.
        let isHidden = before.changeTag.isEmpty && entry.hidesKept(inLogFrom: firstLogged)
        if !mayGoBack, entry.lives == 1, !isAnother, !isHidden,
            expectation.isOwn(entry.changeTag)
        {
            note(operation.sequence, entry, "is in conflict with a version that it wrote itself")
        }
        if operation.kind.changesContent, let stamp = operation.stamp {
            let through = max(before.synced, stamp.acknowledgedThrough)
            if report.base != entry.fields(at: through) {
                note(operation.sequence, entry, "its report has another base")
            }
        }
        // Whoever erases everything asks no policy.
        if expectation.mayErase, entry.changeTag.isEmpty { return }
        guard let policy = expectation.policy else { return }
        if report.policy != policy {
            note(operation.sequence, entry, "its report is by another policy, \(report.policy)")
        }
        guard let table = catalog.table(entry.entity) else { return }
        let verdict = ConflictVerdict(
            report, table, isLocalLater: isLocalLater(entry, before: operation))
        if !verdict.isDue(under: policy, deletes: expectation.deletePolicy) {
            note(
                operation.sequence, entry,
                "does not end as the policy \(policy) says: \(verdict.summary)")
        }
    }
}
