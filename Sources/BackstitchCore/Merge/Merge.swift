/// The version of a record that the service holds, in the store's own values.
package enum ServerState: Equatable, Sendable {
    /// The record exists. `requested` names the fields that were asked for; nil is all of them.
    case present(stamp: ServerVersion, fields: Fields, requested: Set<FieldID>?)
    /// The record does not exist.
    case absent
}

/// Which version of a record the service holds.
package struct ServerVersion: Equatable, Sendable {
    package var changeTag: String
    package var modifiedMilliseconds: Int64

    package init(changeTag: String, modifiedMilliseconds: Int64) {
        self.changeTag = changeTag
        self.modifiedMilliseconds = modifiedMilliseconds
    }
}

extension SyncStamp {
    /// The version that the service has; meant for records that it has.
    package var version: ServerVersion {
        ServerVersion(changeTag: changeTag, modifiedMilliseconds: modifiedMilliseconds)
    }
}

/// What this device knows of a record.
package struct LocalState: Equatable, Sendable {
    /// The current fields; nil if the record does not exist here.
    package var fields: Fields?
    /// The base's version; nil if the service was never known to have the record.
    package var version: ServerVersion?
    /// The operations that the service does not have yet, in order.
    package var unsynced: [OperationStep]
    /// What the service has in fields of the base that stay as they are on this device alone.
    package var kept: Fields
    /// Whether the service may have had the record as it was created here, or deleted and made anew, though
    /// it never acknowledged that.
    package var isSent: Bool
    /// The record's name, which the name of a copy follows from.
    package var name: RecordName

    package init(
        fields: Fields?, version: ServerVersion?, unsynced: [OperationStep],
        kept: Fields = Fields(), isSent: Bool = false, name: RecordName = .text("record")
    ) {
        self.name = name
        self.isSent = isSent
        self.kept = kept
        self.fields = fields
        self.version = version
        self.unsynced = unsynced
    }
}

/// What a merge appends to the log.
package struct MergePlan: Equatable, Sendable {
    /// The first step: if the base moves.
    package enum Remote: Equatable, Sendable {
        /// It does not move.
        case nothing
        /// The content that the service holds is known here already: only the version is new, and
        /// the local operations up to `through` (0 for none) are on the service.
        case acknowledge(version: ServerVersion?, through: UInt64)
        /// The record becomes what the service holds; nil is its end. The local operations up to
        /// `through` (0 for none) are on the service; later ones are superseded or rebased.
        case adopt(version: ServerVersion?, fields: Fields?, through: UInt64)
    }

    /// The second step: what is still to be pushed on top of the new base.
    package enum Rebase: Equatable, Sendable {
        case nothing
        /// The record becomes these fields.
        case save(Fields)
        case delete
    }

    package var remote: Remote
    package var rebase: Rebase
    /// What the journal keeps if a value of one side is lost.
    package var conflict: ConflictReport?
    /// The local version if it becomes a new record; the report has its name.
    package var copy: Fields?
    /// Why the record is parked as it is, with the base that it has.
    package var parkingReason: String?
    /// What the application has to decide before anything can be appended.
    package var question: ConflictQuestion?

    package init(
        remote: Remote, rebase: Rebase = .nothing, conflict: ConflictReport? = nil
    ) {
        self.remote = remote
        self.rebase = rebase
        self.conflict = conflict
    }
}

/// Decides what becomes of a record when the service's version of it arrives.
///
/// The result is a function of the base, the local operations, the service's version and the
/// rules; never of a clock or of the order in which records arrive.
package struct Merge: Sendable {
    package var rules: MergeRules
    /// What the application said of this very conflict.
    package var answer: ConflictAnswer?
    /// The fields that the schema declares; others always keep the service's value.
    package var knownFields: Set<FieldID>
    /// The fields that a create may leave out at first, because they close a circle of references.
    package var deferrableFields: Set<FieldID>
    /// The fields that a create or an update may leave out at first, because their files follow.
    package var laterFields: Set<FieldID>
    /// Whether two values are the same on the service, if some types lose precision.
    package var areSame: @Sendable (FieldID, RecordValue, RecordValue) -> Bool

    package init(
        rules: MergeRules, knownFields: Set<FieldID>,
        deferrableFields: Set<FieldID> = [], laterFields: Set<FieldID> = [],
        areSame: @escaping @Sendable (FieldID, RecordValue, RecordValue) -> Bool = { $1 == $2 }
    ) {
        self.rules = rules
        self.knownFields = knownFields
        self.deferrableFields = deferrableFields
        self.laterFields = laterFields
        self.areSame = areSame
    }

    /// Decides for one record.
    ///
    /// - Parameter isAuthoritative: Whether the service has said that the known version is not its
    ///   own, or is read anew as a whole: then its version counts even if it is older, as after
    ///   a restore from a backup.
    package func plan(
        local: LocalState, server: ServerState, isAuthoritative: Bool = false
    ) -> MergePlan {
        switch server {
        case .absent:
            return planAbsent(local: local)
        case .present(let version, let fields, let requested):
            if let known = local.version,
                !Self.isNews(version, after: known, isAuthoritative: isAuthoritative)
            {
                return MergePlan(remote: .nothing)
            }
            return planPresent(
                local: local, version: version,
                server: completed(fields, requested: requested, from: local))
        }
    }

    /// Whether a version is another one than the known one, and not one that a late reply has from before it.
    package static func isNews(
        _ version: ServerVersion, after known: ServerVersion, isAuthoritative: Bool
    ) -> Bool {
        known.changeTag != version.changeTag
            && (isAuthoritative || version.modifiedMilliseconds >= known.modifiedMilliseconds)
    }

    /// The service's fields, with the base's values for those that were not asked for.
    private func completed(
        _ fields: Fields, requested: Set<FieldID>?, from local: LocalState
    ) -> Fields {
        guard let requested else { return fields }
        var result = fields
        let base = Self.states(of: local).first?.fields ?? Fields()
        for (field, value) in base where !requested.contains(field) { result[field] = value }
        return result
    }

    // MARK: The service has the record

    private func planPresent(
        local: LocalState, version: ServerVersion, server: Fields
    ) -> MergePlan {
        guard !local.unsynced.isEmpty else {
            guard let fields = local.fields, foreignFields(server, fields).isEmpty else {
                return MergePlan(remote: .adopt(version: version, fields: server, through: 0))
            }
            return MergePlan(remote: .acknowledge(version: version, through: 0))
        }
        let states = Self.states(of: local)
        let base = states.first?.fields
        // What began as a record of this device alone has a base that the service never had.
        let held = states.dropFirst(local.version == nil ? 1 : 0).map { state in
            (state: state, seen: withoutKept(local.kept, server, base, in: state))
        }.filter { holds($0.seen, $0.state) || isShared(server, $0.state) }
        // A state that is there as a whole says more than one whose changes alone are there, which
        // may be the same as those of an earlier life.
        let whole = held.last { state, seen in
            state.fields.map { foreignFields(seen, $0).isEmpty } ?? false
                || isShared(server, state)
        }
        if let whole {
            return MergePlan(
                remote: .acknowledge(version: version, through: whole.state.sequence))
        }
        let before = local.version == nil ? nil : base
        let edited = states.dropFirst(local.version == nil ? 0 : 1)
        for state in edited.reversed() {
            // Our own edit came through without the references or the files that were to follow.
            guard let seen = part(server, local.kept, of: state, before) else { continue }
            return MergePlan(
                remote: .adopt(version: version, fields: seen, through: state.sequence),
                rebase: local.fields.map { .save($0) } ?? .delete)
        }
        if let (state, _) = held.last {
            if state.sequence == states.last?.sequence {
                return MergePlan(
                    remote: .adopt(version: version, fields: server, through: state.sequence))
            }
            return resolve(
                ConflictSides(
                    version: version, base: state.fields, server: server, local,
                    through: state.sequence))
        }
        return resolve(
            ConflictSides(version: version, base: base, server: server, local))
    }

    /// Whether the service holds a record as a whole as it was before the last of the local operations.
    ///
    /// The order of two states says nothing if the service had lost the first when its version replaced
    /// that, unless this device has edited the second.
    package func isEarlierState(_ server: Fields, of local: LocalState) -> Bool {
        let states = Self.states(of: local)
        let place = states.lastIndex { state in
            state.fields.map { foreignFields(server, $0).isEmpty } ?? false
        }
        guard let place, place > 0, place < states.count - 1 else { return false }
        let later = local.unsynced[place...]
        guard let replacing = later.lastIndex(where: \.replacesLost) else { return true }
        return later[replacing...].contains { $0.origin == .local }
    }

    /// The service's fields, with a local state's own in those that stay as they are on this device.
    private func withoutKept(
        _ kept: Fields, _ server: Fields, _ base: Fields?, in state: PrefixState
    ) -> Fields {
        guard let base, let fields = state.fields, !kept.isEmpty else { return server }
        var seen = server
        for (field, value) in kept where areSame(field, server.value(field), value) {
            let mine = fields.value(field)
            if areSame(field, mine, base.value(field)) { seen[field] = mine }
        }
        return seen.withoutNulls
    }

    /// Whether the service holds what it heard of a local state, if it has to be found out anew
    /// what that was.
    private func isShared(_ server: Fields, _ state: PrefixState) -> Bool {
        guard state.fields != nil, let shared = state.shared else { return false }
        return foreignFields(server, shared).isEmpty
    }

    /// The service's fields, with what stays on this device as it is here, if it holds a local state but for
    /// what a modification leaves out: references of a create, and files. Of them it has what it had before.
    private func part(
        _ server: Fields, _ kept: Fields, of state: PrefixState, _ before: Fields?
    ) -> Fields? {
        let leftOut = before == nil ? deferrableFields.union(laterFields) : laterFields
        guard let fields = state.fields, !leftOut.isEmpty else { return nil }
        var seen = withoutKept(kept, server, before, in: state)
        for field in foreignFields(seen, fields) {
            guard leftOut.contains(field) else { return nil }
            let (theirs, old) = (server.value(field), before?.value(field) ?? .null)
            if let known = kept[field], areSame(field, theirs, known) {
                seen[field] = old
            } else if !areSame(field, theirs, old) {
                return nil
            }
        }
        return seen
    }

    /// Whether the service holds what the local operations up to a state have written: then they
    /// reached it, though their reply did not reach us. The base itself always counts as held.
    private func holds(_ server: Fields, _ state: PrefixState) -> Bool {
        guard state.fields != nil else { return false }
        return state.changed.allSatisfy { areSame($0.field, server.value($0.field), $0.value) }
    }

    func foreignFields(_ server: Fields, _ expected: Fields) -> [FieldID] {
        server.differences(from: expected).filter {
            !areSame($0, server.value($0), expected.value($0))
        }
    }

    // MARK: The service has no such record

    private func planAbsent(local: LocalState) -> MergePlan {
        guard !local.unsynced.isEmpty else {
            guard local.fields != nil else { return MergePlan(remote: .nothing) }
            return MergePlan(remote: .adopt(version: nil, fields: nil, through: 0))
        }
        let states = Self.states(of: local)
        guard let base = states.first?.fields else {
            // A record that began here and was not sent can't have ended there: the news is of an earlier
            // life.
            guard local.isSent, local.fields != nil else { return MergePlan(remote: .nothing) }
            return resolve(ConflictSides(version: nil, base: nil, server: nil, local))
        }
        if let match = states.lastIndex(where: { $0.fields == nil }) {
            // If the record that followed the delete was sent, that one may have ended.
            guard local.isSent, local.fields != nil else {
                // Deleted on both sides, or our own delete came through; what followed stays.
                return MergePlan(
                    remote: .acknowledge(version: nil, through: states[match].sequence))
            }
        } else if let mine = local.fields, foreignFields(mine, base).isEmpty {
            // Edits that were taken back do not count.
            return MergePlan(
                remote: .adopt(
                    version: nil, fields: nil, through: local.unsynced.last?.sequence ?? 0))
        }
        return resolve(ConflictSides(version: nil, base: base, server: nil, local))
    }

    // MARK: The local states

    /// The record after the first so many unsynced operations.
    private struct PrefixState {
        /// The sequence of the last of them; 0 for the base.
        var sequence: UInt64
        /// All fields; nil if the record does not exist.
        var fields: Fields?
        /// The fields that they changed, with their values.
        var changed: Fields
        /// The fields without what stayed on this device, if no base tells which these are. It is nil if
        /// nothing stayed, and if there are no fields.
        var shared: Fields?
    }

    /// The base and the state after each unsynced operation, oldest first.
    private static func states(of local: LocalState) -> [PrefixState] {
        // Undo the operations from the last to the first to find the base, then redo them.
        var current = local.fields
        for step in local.unsynced.reversed() { current = step.change.undone(from: current) }
        var states = [
            PrefixState(sequence: 0, fields: current?.withoutNulls, changed: Fields())
        ]
        var fold = RecordFold()
        var shared: Fields?
        let hasStayed = local.version == nil && local.unsynced.contains { $0.origin == .localOnly }
        for step in local.unsynced {
            fold.add(step)
            current = step.change.applied(to: current)
            if hasStayed, step.origin == .remote {
                shared = current
            } else if hasStayed, step.origin != .localOnly {
                // What began here to stay is pushed as a whole with its first edit.
                shared = shared == nil ? current : step.change.applied(to: shared)
            }
            states.append(
                PrefixState(
                    sequence: step.sequence, fields: current?.withoutNulls, changed: fold.changed,
                    shared: shared?.withoutNulls))
        }
        return states
    }
}
