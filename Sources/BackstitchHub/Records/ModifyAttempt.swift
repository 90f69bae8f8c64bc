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
        var links: [RecordLink]
        var cause: Int
    }

    private let view: View
    private let cache: ModifyPlanner<View>.RecordCache
    private var changed: [String: Changed] = [:]
    /// The changed records that refer, or referred, to a name.
    private var changedSources: [String: [String]] = [:]
    private(set) var steps: [Step] = []
    private var failed: [Int: WireError] = [:]

    init(view: View, cache: ModifyPlanner<View>.RecordCache) {
        self.view = view
        self.cache = cache
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
            changed[name] = Changed(isLive: true, links: draft.links, cause: cause)
            for link in draft.links { changedSources[link.target, default: []].append(name) }
            steps.append(Step(recordName: name, cause: cause, draft: draft))
        case .remove:
            if !isGone { try removeCascading(name, cause) }
        }
    }

    /// Deletes a record, and all that refer to it with DELETE_SELF, and so on.
    private mutating func removeCascading(_ name: String, _ cause: Int) throws {
        var waiting = [name]
        var next = 0
        while next < waiting.count {
            let name = waiting[next]
            next += 1
            guard try isLive(name) else { continue }
            changed[name] = Changed(isLive: false, links: [], cause: cause)
            steps.append(
                Step(
                    recordName: name, cause: cause,
                    draft: ModifyDraft(kind: .remove, recordName: name)))
            waiting += try sources(of: name, .deleteSelf)
        }
    }

    private func isLive(_ name: String) throws -> Bool {
        if let changed = changed[name] { return changed.isLive }
        return try cache.record(name, in: view).map { !$0.isDeleted } ?? false
    }

    /// The live records that refer to a name in one way, in order.
    private func sources(of target: String, _ kind: RecordLink.Kind) throws -> [String] {
        let link = RecordLink(target: target, kind: kind)
        var names = Set(
            try view.sources(of: target).lazy
                .filter { $0.kind == kind && changed[$0.recordName] == nil }
                .map(\.recordName))
        for name in changedSources[target] ?? [] {
            if let changed = changed[name], changed.isLive, changed.links.contains(link) {
                names.insert(name)
            }
        }
        return names.sorted()
    }

    /// The operations that can't be carried out, given all others.
    func culprits() throws -> [Int: WireError] {
        var culprits = failed
        for (name, record) in changed {
            if record.isLive {
                for link in record.links where link.kind != .deleteSelf {
                    if try !isLive(link.target) {
                        culprits[record.cause] = WireError(
                            .validatingReferenceError,
                            "The record refers to '\(link.target)', which is not there.")
                    }
                }
            } else if let source = try sources(of: name, .validate).first {
                culprits[record.cause] = WireError(
                    .validatingReferenceError,
                    "Record delete would violate validating reference of '\(source)', rejecting "
                        + "update")
            }
        }
        return culprits
    }
}
