import Foundation
import XXHash

/// The versions of a record that met, and neither follows from the other.
struct ConflictSides {
    /// The service's version; nil if the record was deleted there.
    var version: ServerVersion?
    /// The fields that both sides started from; nil if the record did not exist.
    var base: Fields?
    /// The local fields; nil if the record was deleted here.
    var mine: Fields?
    /// The service's fields; nil if the record was deleted there.
    var theirs: Fields?
    /// The fields that were cleared here, if there is no base to tell.
    var cleared: Set<FieldID> = []
    /// The local operations up to this are on the service.
    var through: UInt64
    /// Whether all that is to be pushed is left of edits that met the service before.
    var isLeftOver: Bool
    /// The time of the last local operation.
    var localMilliseconds: Int64
    var name: RecordName

    init(
        version: ServerVersion?, base: Fields?, server: Fields?, _ local: LocalState,
        through: UInt64 = 0
    ) {
        self.version = version
        self.base = base
        mine = local.fields
        theirs = server
        self.through = through
        isLeftOver = local.unsynced.allSatisfy { $0.origin == .rebase }
        localMilliseconds = LogicalClock.milliseconds(of: local.unsynced.last?.clock ?? 0)
        name = local.name
        guard base == nil else { return }
        var fold = RecordFold()
        for step in local.unsynced { fold.add(step) }
        for (field, value) in fold.changed where value == .null { cleared.insert(field) }
    }

    /// Whether the local version was made later. What was deleted on the service has no time.
    var isLocalLater: Bool {
        guard let version else { return true }
        return localMilliseconds > version.modifiedMilliseconds
    }
}

extension Merge {
    /// Decides for a record that was deleted here, if the service lost the record before it heard
    /// of that and then got one of its name again.
    ///
    /// - Parameter before: What the record was when it was deleted.
    package func plan(
        unheardEnd step: OperationStep, of before: Fields, version: ServerVersion, server: Fields
    ) -> MergePlan {
        if foreignFields(server, before.withoutNulls).isEmpty {
            return MergePlan(
                remote: .adopt(version: version, fields: server, through: 0), rebase: .delete)
        }
        // The service has another record than the one that was deleted: there is no base.
        var local = LocalState(fields: nil, version: nil, unsynced: [])
        local.unsynced = [step]
        return resolve(ConflictSides(version: version, base: nil, server: server, local))
    }

    func resolve(_ sides: ConflictSides) -> MergePlan {
        guard let decision = decide(sides) else {
            var plan = MergePlan(remote: .nothing)
            plan.question = ConflictQuestion(
                base: sides.base, local: sides.mine, server: sides.theirs,
                contested: changes(of: sides)?.contested ?? [],
                localMilliseconds: sides.localMilliseconds,
                serverMilliseconds: sides.version?.modifiedMilliseconds)
            return plan
        }
        return plan(decision, sides)
    }

    // MARK: Deciding

    /// What becomes of a conflict, and whether a value is lost by that.
    private struct Decision {
        var answer: ConflictAnswer
        var isLossy = true
    }

    /// Decides; nil if the application has to.
    private func decide(_ sides: ConflictSides) -> Decision? {
        if let files = files(following: sides) {
            return Decision(answer: .fields(files), isLossy: false)
        }
        let isEdited = sides.mine != nil
        if !isEdited || sides.theirs == nil {
            switch rules.deletePolicy {
            case .deleteWins: return Decision(answer: isEdited ? .server : .client)
            case .editWins: return Decision(answer: isEdited ? .client : .server)
            case .followPolicy: break
            }
        }
        return decide(rules.policy, sides)
    }

    /// The files that follow an edit which the service has had, if nothing else is to be pushed and the
    /// service has of them what it had; nil otherwise.
    ///
    /// They say nothing of the rest of the record. If they did, two devices whose files can't be had would
    /// take turns in pushing what they know of that.
    private func files(following sides: ConflictSides) -> Fields? {
        guard sides.isLeftOver, let base = sides.base, let mine = sides.mine,
            let theirs = sides.theirs
        else { return nil }
        let changed = foreignFields(mine, base)
        let isFollowing = changed.allSatisfy {
            laterFields.contains($0) && areSame($0, theirs.value($0), base.value($0))
        }
        guard isFollowing, !changed.isEmpty else { return nil }
        return Fields(changed.map { ($0, mine.value($0)) })
    }

    private func decide(_ policy: ConflictPolicy, _ sides: ConflictSides) -> Decision? {
        switch policy {
        case .serverWins: Decision(answer: .server)
        case .clientWins: Decision(answer: .client)
        case .lastWriterWins: Decision(answer: sides.isLocalLater ? .client : .server)
        case .keepBoth: Decision(answer: .keepBoth)
        case .resolver: answer.map { Decision(answer: $0.only(knownFields)) }
        case .merge(let otherwise): decideByField(otherwise.innermost, sides)
        }
    }

    /// The other policy decides the contested fields only; two whole versions are both kept as they are.
    private func decideByField(_ otherwise: ConflictPolicy, _ sides: ConflictSides) -> Decision? {
        guard let mine = sides.mine, let changes = changes(of: sides) else {
            return decide(otherwise, sides)
        }
        var taken = changes.taken
        guard !changes.contested.isEmpty else {
            return Decision(answer: .fields(taken), isLossy: changes.isLossy)
        }
        guard let decision = decide(otherwise, sides) else { return nil }
        switch decision.answer {
        case .client: for field in changes.contested { taken[field] = mine.value(field) }
        case .fields(let values): taken.overlay(values.only(changes.contested))
        case .keepBoth where rules.mayCopy: return decision
        case .park: return decision
        case .server, .keepBoth: break
        }
        return Decision(answer: .fields(taken))
    }

    /// The fields of a record that both sides have, by who changed them.
    private struct FieldChanges {
        /// The local values that the merged record has: of fields that were changed here only, or whose
        /// own rule says so.
        var taken = Fields()
        /// The fields that both sides changed to different values, and that have no rule of their own.
        var contested: Set<FieldID> = []
        /// Whether both sides changed a field to different values.
        var isLossy = false
    }

    /// Who changed the fields; nil if a side does not have the record.
    private func changes(of sides: ConflictSides) -> FieldChanges? {
        guard let mine = sides.mine, let theirs = sides.theirs else { return nil }
        let base = sides.base ?? Fields()
        var changes = FieldChanges()
        // Fields that the schema does not know are changed here too, by a copy of a record.
        for field in knownFields.union(mine.differences(from: base)) {
            let (own, foreign) = (mine.value(field), theirs.value(field))
            let isChanged =
                !areSame(field, own, base.value(field)) || sides.cleared.contains(field)
            if areSame(field, own, foreign) || !isChanged { continue }
            if areSame(field, foreign, base.value(field)) {
                changes.taken[field] = own
                continue
            }
            changes.isLossy = true
            guard knownFields.contains(field) else { continue }
            switch rules.fields[field] {
            case .clientWins?: changes.taken[field] = own
            case .lastWriterWins? where sides.isLocalLater: changes.taken[field] = own
            case .serverWins?, .lastWriterWins?: break
            case nil: changes.contested.insert(field)
            }
        }
        return changes
    }

    // MARK: Planning

    private func plan(_ decision: Decision, _ sides: ConflictSides) -> MergePlan {
        let adopt = MergePlan.Remote.adopt(
            version: sides.version, fields: sides.theirs, through: sides.through)
        func report(_ outcome: Fields?) -> ConflictReport? {
            guard decision.isLossy else { return nil }
            return ConflictReport(
                policy: rules.policy, base: sides.base, local: sides.mine, server: sides.theirs,
                outcome: outcome)
        }
        func saving(_ values: Fields, over fields: Fields) -> MergePlan {
            var result = fields
            for (field, value) in values {
                if areSame(field, result.value(field), value) { continue }
                result[field] = value
            }
            result = result.withoutNulls
            let isNew = sides.theirs.map { !foreignFields(result, $0).isEmpty } ?? true
            return MergePlan(
                remote: adopt, rebase: isNew ? .save(result) : .nothing, conflict: report(result))
        }
        switch decision.answer {
        case .keepBoth where rules.mayCopy && sides.mine != nil:
            return copying(MergePlan(remote: adopt, conflict: report(sides.theirs)), sides)
        case .server, .keepBoth:
            return MergePlan(remote: adopt, conflict: report(sides.theirs))
        case .client:
            guard let mine = sides.mine else {
                return MergePlan(remote: adopt, rebase: .delete, conflict: report(nil))
            }
            guard let theirs = sides.theirs else {
                return MergePlan(remote: adopt, rebase: .save(mine), conflict: report(mine))
            }
            var known = mine.only(knownFields)
            for field in knownFields where mine[field] == nil { known[field] = .null }
            return saving(known, over: theirs)
        case .fields(let values):
            return saving(values, over: sides.theirs ?? sides.mine ?? Fields())
        case .park(let reason):
            var plan = MergePlan(remote: .nothing)
            plan.parkingReason = reason
            return plan
        }
    }

    private func copying(_ plan: MergePlan, _ sides: ConflictSides) -> MergePlan {
        var plan = plan
        plan.copy = sides.mine
        plan.conflict?.copy = sides.mine?.copyName(of: sides.name)
        return plan
    }
}

extension ConflictAnswer {
    /// The answer without values for fields that the schema does not know.
    fileprivate func only(_ known: Set<FieldID>) -> ConflictAnswer {
        if case .fields(let values) = self { .fields(values.only(known)) } else { self }
    }
}

extension Fields {
    /// The name of a copy of a record with these fields. It follows from both, so that a merge that
    /// is repeated makes the same one.
    fileprivate func copyName(of name: RecordName) -> RecordName {
        var writer = _FieldWriter()
        var bytes = ByteBuffer(capacity: 256)
        // Fields that were stored can be written again.
        try? withoutNulls.write(to: &writer)
        writer.finish(into: &bytes)
        let seed = Checksum.xxh64(name.description)
        return unsafe .uuid(
            UUID(
                computed: Checksum.xxh64(bytes.bytes, seed: seed),
                Checksum.xxh64(bytes.bytes, seed: ~seed)))
    }
}
