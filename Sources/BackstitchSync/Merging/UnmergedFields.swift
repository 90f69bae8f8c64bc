import BackstitchCore

/// The fields of a record that a merge does not decide about, because they travel one way or not at
/// all.
///
/// | attribute | in the base after a merge | in the record after it |
/// |---|---|---|
/// | local only | what is here | what is here |
/// | not uploaded | the service's value, or what is here if it has none | the same |
/// | not downloaded | what was here before the unsynced operations | what is here |
///
/// Whether an edit of what is not downloaded reached the service can't be told from its version, so
/// it stays to be pushed.
struct UnmergedFields {
    /// The fields that the merge is not to see.
    let ids: Set<FieldID>
    /// What is here.
    private var current = Fields()
    /// What belongs to the service's version.
    private var base = Fields()
    /// What the record is to have.
    private var now = Fields()

    /// - Parameters:
    ///   - current: The record's fields; nil if it does not exist here.
    ///   - unsynced: The operations that the service does not have yet.
    init(
        of table: EntityTable, current: Fields?, unsynced: [OperationStep], server: ServerState
    ) {
        guard case .present(_, let fields, _) = server else {
            // An edit of what is not downloaded counts if the record's end meets it.
            ids = table.unsentFields
            keep(current)
            return
        }
        ids = table.unsentFields.union(table.unreadFields)
        guard !ids.isEmpty else { return }
        keep(current)
        now.overlay(fields.only(table.unsentFields.subtracting(table.unreadFields)))
        base = now
        var before = current
        for step in unsynced.reversed() { before = step.change.undone(from: before) }
        for field in table.unreadFields.subtracting(table.unsentFields) {
            base[field] = before?[field]
        }
    }

    private mutating func keep(_ fields: Fields?) {
        current = fields?.only(ids) ?? Fields()
        (base, now) = (current, current)
    }

    /// The service's version as the merge sees it.
    func seen(_ server: ServerState) -> ServerState {
        guard !ids.isEmpty, case .present(let stamp, let fields, let requested) = server else {
            return server
        }
        return .present(stamp: stamp, fields: fields.without(ids), requested: requested)
    }

    /// What the merge decided, with these fields.
    ///
    /// - Parameter local: What the merge saw of this device.
    func whole(_ plan: MergePlan, _ local: LocalState) -> MergePlan {
        guard !ids.isEmpty else { return plan }
        var plan = plan
        plan.copy = plan.copy?.overlaid(by: current)
        if case .acknowledge(let version?, let through) = plan.remote, mustAdopt {
            var acknowledged = local.fields
            for step in local.unsynced.reversed() where step.sequence > through {
                acknowledged = step.change.undone(from: acknowledged)
            }
            plan.remote = .adopt(version: version, fields: acknowledged, through: through)
            if local.unsynced.contains(where: { $0.sequence > through }) {
                plan.rebase = local.fields.map { .save($0) } ?? .delete
            }
        }
        guard case .adopt(let version, let fields, let through) = plan.remote else { return plan }
        plan.remote = .adopt(version: version, fields: fields?.overlaid(by: base), through: through)
        switch plan.rebase {
        case .save(let saved):
            plan.rebase = .save(saved.overlaid(by: now))
        case .nothing where isPending:
            if let fields { plan.rebase = .save(fields.overlaid(by: now)) }
        case .nothing, .delete:
            break
        }
        return plan
    }

    /// Whether an edit of what is not downloaded is still to be pushed.
    private var isPending: Bool { !now.differences(from: base).isEmpty }

    /// Whether a version that is known otherwise changes these fields.
    private var mustAdopt: Bool { isPending || !now.differences(from: current).isEmpty }
}

extension Fields {
    fileprivate func overlaid(by other: Fields) -> Fields {
        var fields = self
        fields.overlay(other)
        return fields
    }
}
