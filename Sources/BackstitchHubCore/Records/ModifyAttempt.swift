import CloudKitWire

/// The records of a zone as they would be after some operations, in memory.
struct ModifyAttempt<View: ZoneView> {
    /// One change of one record.
    struct Step {
        var recordName: String
        /// The operation that it follows from, by its place in the request.
        var cause: Int
        var draft: ModifyDraft
    }

    /// A record that the operations changed.
    private struct Changed {
        var isLive: Bool
        var links: Set<RecordLink>
        var cause: Int

        /// Whether it needs the record of a name.
        func refers(to name: String) -> Bool {
            links.contains(RecordLink(target: name, kind: .validate))
                || links.contains(RecordLink(target: name, kind: .parent))
        }
    }

    private let view: View
    private let cache: ModifyPlanner<View>.RecordCache
    private let limits: HubLimits
    private let budget: ModifyBudget
    private var changed: [String: Changed] = [:]
    /// The changed records that refer, or referred, to a name.
    private var changedSources: [String: [String]] = [:]
    /// The records that operations save, by the operations.
    private var savedNames: [Int: String] = [:]
    private var cascaded = 0
    private(set) var steps: [Step] = []
    private var failed: [Int: WireError] = [:]

    init(_ planner: ModifyPlanner<View>) {
        view = planner.view
        cache = planner.cache
        limits = planner.context.limits
        budget = planner.budget
    }

    /// Carries out an operation.
    mutating func carryOut(_ draft: ModifyDraft, _ cause: Int) throws {
        let name = draft.recordName
        // An operation before this one may have deleted the record, as what refers to another one.
        let isGone = changed[name].map { !$0.isLive } ?? false
        switch draft.kind {
        case .nothing: return
        case .save:
            if isGone, draft.needsRecord {
                failed[cause] = WireError(.notFound, "Record not found")
                return
            }
            changed[name] = Changed(isLive: true, links: Set(draft.links), cause: cause)
            savedNames[cause] = name
            for link in draft.links { changedSources[link.target, default: []].append(name) }
            steps.append(Step(recordName: name, cause: cause, draft: draft))
        case .remove:
            if !isGone { try removeCascading(name, cause) }
        }
    }

    /// Deletes a record, and all that refer to it with DELETE_SELF, and so on; or nothing, if these
    /// are too many.
    private mutating func removeCascading(_ name: String, _ cause: Int) throws {
        var waiting = [name]
        var place = 0
        var gone: Set<String> = []
        var removed: [String] = []
        while place < waiting.count {
            let next = waiting[place]
            place += 1
            guard !gone.contains(next), try isLive(next) else { continue }
            gone.insert(next)
            removed.append(next)
            let room = limits.cascadedRecords - cascaded - removed.count + 1
            guard room >= 0, cache.bytes <= 2 * limits.modifiedBytes,
                let sources = try sources(of: next, max: room + gone.count)
            else {
                failed[cause] = WireError(
                    .limitExceeded,
                    "Too many records refer to '\(name)' and would be deleted with it. Delete "
                        + "some of them first.")
                return
            }
            waiting += sources
        }
        cascaded += max(0, removed.count - 1)
        for name in removed {
            changed[name] = Changed(isLive: false, links: [], cause: cause)
            steps.append(
                Step(
                    recordName: name, cause: cause,
                    draft: ModifyDraft(kind: .remove, recordName: name)))
        }
    }

    private func isLive(_ name: String) throws -> Bool {
        if let changed = changed[name] { return changed.isLive }
        return try isStored(name)
    }

    private func isStored(_ name: String) throws -> Bool {
        try cache.record(name, in: view).map { !$0.isDeleted } ?? false
    }

    /// The live records that refer to a name with DELETE_SELF, in order; nil if there are more than
    /// a number.
    private func sources(of target: String, max: Int) throws -> [String]? {
        let link = RecordLink(target: target, kind: .deleteSelf)
        var names: Set<String> = []
        var isTooLong = false
        try view.visitSources(of: target, .deleteSelf) { name in
            if changed[name] == nil { names.insert(name) }
            isTooLong = names.count > max || !budget.allows(visits: 1)
            return !isTooLong
        }
        if isTooLong { return nil }
        for name in changedSources[target] ?? [] {
            if let changed = changed[name], changed.isLive, changed.links.contains(link) {
                names.insert(name)
            }
        }
        return names.sorted()
    }

    /// A live record that refers to a name with VALIDATE; nil if there is none.
    private func validatingSource(of target: String) throws -> String? {
        let link = RecordLink(target: target, kind: .validate)
        var found: String?
        try view.visitSources(of: target, .validate) { name in
            // Where there are too many to look at, the first one counts, whatever becomes of it.
            if changed[name] == nil || !budget.allows(visits: 1) { found = name }
            return found == nil
        }
        if let found { return found }
        return changedSources[target]?.filter {
            changed[$0].map { $0.isLive && $0.links.contains(link) } ?? false
        }.min()
    }

    /// The operations that can't be carried out, given all others; those among them that depend on
    /// one another are found together.
    ///
    /// - Complexity: O(*n*) in the changed records and their references.
    func culprits() throws -> [Int: WireError] {
        var culprits = failed
        for (name, record) in changed {
            if record.isLive {
                for link in record.links where link.kind != .deleteSelf {
                    if try !isLive(link.target) {
                        culprits[record.cause] = Self.missing(link.target)
                    }
                }
            } else if let source = try validatingSource(of: name) {
                culprits[record.cause] = WireError(
                    .validatingReferenceError,
                    "Record delete would violate validating reference of '\(source)', rejecting "
                        + "update")
            }
        }
        // What refers to a record that is not made now either.
        var waiting = Array(culprits.keys)
        while let cause = waiting.popLast() {
            guard let name = savedNames[cause], try !isStored(name) else { continue }
            for source in changedSources[name] ?? [] {
                guard let record = changed[source], record.isLive,
                    culprits[record.cause] == nil, record.refers(to: name)
                else { continue }
                culprits[record.cause] = Self.missing(name)
                waiting.append(record.cause)
            }
        }
        return culprits
    }

    private static func missing(_ target: String) -> WireError {
        WireError(
            .validatingReferenceError, "The record refers to '\(target)', which is not there.")
    }
}
