import BackstitchCore

/// Tells from a conflict's report alone whether it ended as a policy says.
///
/// It shares no code with the engine's merge. If nothing tells what the decision hangs on, as what
/// an application answers, every end that is possible is right. Under a merge, an answer can change
/// the fields that both sides changed, and no others.
struct ConflictVerdict {
    private let report: ConflictReport
    private let table: EntityTable
    /// Whether the last local edit was made later than the service's version.
    private let isLocalLater: Bool

    init(_ report: ConflictReport, _ table: EntityTable, isLocalLater: Bool) {
        self.report = report
        self.table = table
        self.isLocalLater = isLocalLater
    }

    func isDue(under policy: ConflictPolicy, deletes: ConflictRules.DeletePolicy) -> Bool {
        if report.local == nil || report.server == nil {
            switch deletes {
            case .deleteWins: return report.outcome == nil
            case .editWins: return isSame(report.outcome, report.server ?? report.local)
            case .followPolicy: return isDueAsWhole(under: policy.innermost)
            }
        }
        guard case .merge = policy else { return isDueAsWhole(under: policy) }
        return isDueByField(otherwise: policy.innermost)
    }

    /// All sides and the end, for a person to read.
    var summary: String {
        func line(_ name: String, _ fields: Fields?) -> String {
            guard let fields else { return "\(name) none" }
            let values = WireForm.fields(fields, table).sorted { $0.key < $1.key }
            return "\(name) " + values.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
        return [
            line("base", report.base), line("local", report.local),
            line("server", report.server), line("outcome", report.outcome),
        ].joined(separator: "; ")
    }

    // MARK: Whole records

    private func isDueAsWhole(under policy: ConflictPolicy) -> Bool {
        switch policy {
        case .serverWins: return isSame(report.outcome, report.server)
        case .clientWins: return isSame(report.outcome, localWithForeignFields)
        case .lastWriterWins:
            return isDueAsWhole(under: isLocalLater ? .clientWins : .serverWins)
        case .keepBoth:
            let isCopied = report.local != nil && table.unique.isEmpty
            return isSame(report.outcome, report.server) && (report.copy != nil) == isCopied
        case .resolver, .merge: return isOfTheSides
        }
    }

    /// The local version, with what the schema does not know as the service has it.
    private var localWithForeignFields: Fields? {
        guard let local = report.local, var result = report.server else { return report.local }
        for field in table.declaredFields where !areSame(field, local, result) {
            result[field] = local[field]
        }
        return result
    }

    /// Whether every value is one that a side has.
    private var isOfTheSides: Bool {
        guard let outcome = report.outcome else {
            return report.local == nil || report.server == nil
        }
        let sides = [report.local, report.server].compactMap { $0 }
        return Set(outcome.ids).union(report.server?.ids ?? []).allSatisfy { field in
            sides.contains { areSame(field, outcome, $0) }
        }
    }

    // MARK: Field by field

    private func isDueByField(otherwise: ConflictPolicy) -> Bool {
        guard let local = report.local, let server = report.server, let outcome = report.outcome
        else { return false }
        let base = report.base ?? Fields()
        if report.copy != nil {
            // Two whole versions are kept if a field is contested, by the policy or the application.
            return (otherwise == .keepBoth || otherwise == .resolver)
                && isDueAsWhole(under: .keepBoth)
                && table.declaredFields.contains { mayBeContested($0, local, server, base) }
        }
        return table.declaredFields.allSatisfy { field in
            let isMine = areSame(field, outcome, local)
            let isTheirs = areSame(field, outcome, server)
            guard mayBeContested(field, local, server, base) else {
                if areSame(field, local, server) { return isMine || isTheirs }
                return areSame(field, local, base) ? isTheirs : isMine
            }
            // Without a base the report does not tell whether a field was cleared or never there.
            if report.base == nil, local.value(field) == .null { return isMine || isTheirs }
            switch otherwise {
            case .serverWins: return isTheirs
            case .clientWins: return isMine
            case .lastWriterWins: return isLocalLater ? isMine : isTheirs
            case .keepBoth: return isTheirs && !table.unique.isEmpty
            case .resolver, .merge: return isMine || isTheirs
            }
        }
    }

    /// Whether both sides changed a field to different values, as far as the report tells.
    private func mayBeContested(
        _ field: FieldID, _ local: Fields, _ server: Fields, _ base: Fields
    ) -> Bool {
        if areSame(field, local, server) || areSame(field, server, base) { return false }
        return !areSame(field, local, base) || report.base == nil
    }

    /// Whether two versions are the same; files by their contents, whatever else is known of them.
    private func isSame(_ first: Fields?, _ second: Fields?) -> Bool {
        if first == second { return true }
        guard let first, let second, first.contains(where: { !$0.value.files.isEmpty }) else {
            return false
        }
        return WireForm.fields(first, table) == WireForm.fields(second, table)
    }

    private func areSame(_ field: FieldID, _ first: Fields, _ second: Fields) -> Bool {
        areSameFiles(first.value(field), second.value(field))
            ?? WireForm.areSame(field, first, second, table)
    }

    /// Whether two values were known to be the same files when they met: a device that never had a content
    /// from the service can't tell it by the service's checksum. Nil if one is no file.
    private func areSameFiles(_ first: RecordValue, _ second: RecordValue) -> Bool? {
        switch (first, second) {
        case (.asset(let one), .asset(let other)):
            if let mine = one.content, let others = other.content { return mine == others }
            return one.serviceChecksum != nil && one.serviceChecksum == other.serviceChecksum
        case (.list(let ones), .list(let others)) where !first.files.isEmpty:
            guard ones.count == others.count else { return false }
            return zip(ones, others).allSatisfy { areSameFiles($0, $1) ?? ($0 == $1) }
        default: return nil
        }
    }
}
