import BackstitchCore

/// What a log is held to, one operation at a time. Problems are told in words.
struct LogRules {
    let catalog: CatalogSnapshot
    let expectation: LogAccount.Expectation
    /// Whether the service was put back to a backup, or answers from old states.
    let mayGoBack: Bool
    /// The first operation that the log is sure to have.
    let firstLogged: UInt64
    /// The version of a record that the service gave a change tag to.
    let version: (String) -> ServiceRecord?

    /// What was known of a record before an operation.
    struct Standing {
        let synced: UInt64
        let changeTag: String
        let isParked: Bool

        init(_ entry: RecordAccount) {
            synced = entry.synced
            changeTag = entry.changeTag
            isParked = entry.isParked
        }
    }

    /// The base is true, and so is what a conflict report says of all sides.
    ///
    /// - Parameters:
    ///   - report: What the operation carries.
    ///   - tag: The change tag that the row had before it.
    func problems(
        ofBase operation: OperationView, _ report: ConflictReport?, _ entry: RecordAccount,
        tagBefore tag: String, after standing: Standing
    ) -> [String] {
        guard let table = catalog.table(entry.entity) else { return [] }
        var problems: [String] = []
        let base = entry.fields(at: entry.synced)
        let hidden = Set(
            table.attributes.map(\.field).filter {
                entry.kept.contains($0) || table.unsentFields.contains($0)
                    || table.unreadFields.contains($0)
            }.compactMap { table.attribute($0)?.name })
        let local = base.map { WireForm.fields($0, table).filter { !hidden.contains($0.key) } }
        if entry.changeTag.isEmpty {
            // What began here to stay, and was edited to what it was, still does.
            if local != nil, entry.synced > 0, entry.kept.isEmpty {
                problems.append("exists as synced, but for the service it does not")
            }
        } else if let version = version(entry.changeTag) {
            let server = WireForm.fields(version, table).filter { !hidden.contains($0.key) }
            if version.recordName != entry.recordName {
                problems.append("has the tag of \(version.recordName)")
            } else if let difference = WireForm.difference(local ?? [:], server) {
                problems.append(
                    "its base is not the service's version \(entry.changeTag): \(difference)")
            } else if local == nil {
                problems.append("is gone here, and has the tag \(entry.changeTag)")
            }
        } else {
            problems.append("has the tag \(entry.changeTag) that the service never gave")
        }
        if !mayGoBack, let old = UInt64(tag, radix: 36),
            let new = UInt64(entry.changeTag, radix: 36), new < old
        {
            problems.append("goes back from version \(tag) to \(entry.changeTag)")
        }
        guard let report else { return problems }
        problems += self.problems(of: report, operation, entry, after: standing)
        let states = entry.states.filter { $0.sequence < operation.sequence }
        let mine = states.last?.fields.map { WireForm.fields($0, table) }
        if let difference = WireForm.difference(
            report.local.map { WireForm.fields($0, table) } ?? [:], mine ?? [:])
        {
            problems.append("its report has another local version: \(difference)")
        }
        if !entry.changeTag.isEmpty, let version = version(entry.changeTag),
            let difference = WireForm.difference(
                report.server.map { WireForm.fields($0, table) } ?? [:],
                WireForm.fields(version, table), without: hidden)
        {
            problems.append("its report has another version: \(difference)")
        }
        return problems
    }

    /// Edits of the application leave alone what this version of it does not know. A delete takes references
    /// away by the rules of all versions.
    func problem(ofLocal operation: OperationView, _ entry: RecordAccount) throws -> String? {
        guard !expectation.mayUndo, operation.origin == .local, operation.kind == .update,
            let declared = catalog.table(entry.entity)?.declaredFields
        else { return nil }
        let after = try Fields(operation.after)
        let isKnown = after.ids.allSatisfy { declared.contains($0) || after[$0] == .null }
        return isKnown ? nil : "a local edit writes fields that it does not know"
    }

    /// A record that ends without a report takes no edits with it.
    func problem(
        ofEnd operation: OperationView, _ entry: RecordAccount, after before: Standing
    ) -> String? {
        guard !expectation.mayErase, operation.kind == .delete, operation.stamp != nil,
            unsafe operation.conflictBytes == nil, !entry.waiting.isEmpty,
            let mine = entry.fields(at: operation.sequence - 1),
            let table = catalog.table(entry.entity)
        else { return nil }
        let base = entry.fields(at: before.synced)
        if mine == base { return nil }
        return WireForm.difference(
            WireForm.fields(mine, table), base.map { WireForm.fields($0, table) } ?? [:]
        ).map { "ends with edits and without a report: \($0)" }
    }

    /// A record that the service had ends without a report only if somebody ended it. That the service lost it
    /// is no such end: then it is sent again.
    func problem(ofLoss operation: OperationView, _ entry: RecordAccount) -> String? {
        guard !expectation.mayErase, operation.kind == .delete, operation.origin == .remote,
            operation.stamp?.changeTag.isEmpty == true, unsafe operation.conflictBytes == nil,
            !entry.lastTag.isEmpty, !expectation.wasEnded(entry.lastTag)
        else { return nil }
        return "ends, and nobody ended the record of its version \(entry.lastTag)"
    }

    /// Whether the last edit before an operation was made later than what the service said by it. What
    /// was deleted there has no time.
    private func isLocalLater(_ entry: RecordAccount, before operation: OperationView) -> Bool {
        guard !entry.changeTag.isEmpty, let stamp = operation.stamp else { return true }
        let last = entry.states.last { $0.sequence < operation.sequence }
        return Int64((last?.clock ?? 0) >> 16) > stamp.modifiedMilliseconds
    }

    /// Whether two versions are the same but for what the device learned of their files.
    private func areSame(_ first: Fields?, _ second: Fields?, _ table: EntityTable?) -> Bool {
        guard let first, let second, let table else { return false }
        return Set(first.ids).union(second.ids).allSatisfy { field in
            let (one, other) = (first.value(field), second.value(field))
            return one == other
                || !one.files.isEmpty && WireForm.areSame(field, first, second, table)
        }
    }

    /// A conflict is one, and ends as the policy says.
    private func problems(
        of report: ConflictReport, _ operation: OperationView, _ entry: RecordAccount,
        after before: Standing
    ) -> [String] {
        var problems: [String] = []
        let isSame = !entry.changeTag.isEmpty && entry.changeTag == before.changeTag
        // What was parked may be given up for the version that is known, and so may reverted edits.
        let mayGiveUp = before.isParked || expectation.mayRevert
        if mayGiveUp, isSame || entry.changeTag.isEmpty { return problems }
        if isSame {
            problems.append("is in conflict with the version that it had")
        }
        // A create that is carried out after the record was known, and deleted by another client, makes
        // another record.
        let isAnother = !before.changeTag.isEmpty && expectation.isFirst(entry.changeTag)
        // A version that the device wrote is known by its fields; which of them stayed here, a compacted
        // log does not tell.
        let isHidden =
            before.changeTag.isEmpty
            ? entry.hidesKept(inLogFrom: firstLogged)
            : entry.hidesKept(at: before.synced, inLogFrom: firstLogged)
        if !mayGoBack, entry.lives == 1, !isAnother, !isHidden,
            expectation.isOwn(entry.changeTag)
        {
            problems.append("is in conflict with a version that it wrote itself")
        }
        if operation.kind.changesContent, let stamp = operation.stamp {
            let through = max(before.synced, stamp.acknowledgedThrough)
            let base = entry.fields(at: through)
            if report.base != base, !areSame(report.base, base, catalog.table(entry.entity)) {
                problems.append("its report has another base")
            }
        }
        // Whoever erases everything asks no policy.
        if expectation.mayErase, entry.changeTag.isEmpty { return problems }
        guard let policy = expectation.policy else { return problems }
        if report.policy != policy {
            problems.append("its report is by another policy, \(report.policy)")
        }
        guard let table = catalog.table(entry.entity) else { return problems }
        let verdict = ConflictVerdict(
            report, table, isLocalLater: isLocalLater(entry, before: operation))
        if !verdict.isDue(under: policy, deletes: expectation.deletePolicy) {
            problems.append("does not end as the policy \(policy) says: \(verdict.summary)")
        }
        return problems
    }
}
