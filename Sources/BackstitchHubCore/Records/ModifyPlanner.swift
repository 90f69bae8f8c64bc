import BackstitchCore
import CloudKitWire

/// Decides what a request does to the records of a zone.
///
/// Operations are checked one by one against the zone as it was, then carried out together in
/// memory, so that references to records of the same request hold whatever their order. What
/// references forbid fails, and the rest is tried again without it.
struct ModifyPlanner<View: ZoneView> {
    let view: View
    let context: ModifyContext
    let cache = RecordCache()
    let budget: ModifyBudget

    /// How often operations are tried again without those that failed, before all deletes fail.
    private static var roundsMax: Int { 8 }

    init(view: View, context: ModifyContext) {
        self.view = view
        self.context = context
        budget = ModifyBudget(context.limits)
    }

    /// The records that were read, so that each is read once.
    final class RecordCache {
        private var records: [String: StoredRecord?] = [:]
        /// The bytes of the records that were read.
        private(set) var bytes = 0

        func record(_ name: String, in view: View) throws -> StoredRecord? {
            if let record = records[name] { return record }
            let record = try view.record(name)
            records[name] = .some(record)
            bytes += record?.fieldsJSON.count ?? 0
            return record
        }
    }

    /// Decides about all operations of a request; each is about another record.
    func plan(
        _ operations: [WireRecordOperation], isAtomic: Bool
    ) throws -> ModifyPlan {
        var drafts: [ModifyDraft?] = []
        var errors: [Int: WireError] = [:]
        for (index, operation) in operations.enumerated() {
            switch try draft(operation) {
            case .success(let draft): drafts.append(draft)
            case .failure(let error):
                drafts.append(nil)
                errors[index] = error
            }
        }
        view.expect { drafts.flatMap { $0?.links ?? [] } }
        try refuseGrowth(of: drafts, &errors)
        try refuseSources(of: drafts, &errors)
        var rounds = 0
        while true {
            if isAtomic, !errors.isEmpty { return failedPlan(operations, errors) }
            rounds += 1
            // Without deletes the next round is the last one: what a save needs and does not get is
            // found in one.
            if rounds > Self.roundsMax { refuseDeletes(of: drafts, &errors) }
            var attempt = ModifyAttempt(self)
            for (index, draft) in drafts.enumerated() where errors[index] == nil {
                guard let draft else { continue }
                try attempt.carryOut(draft, index)
            }
            let culprits = try attempt.culprits()
            if culprits.isEmpty { return try plan(operations, drafts, errors, attempt) }
            errors.merge(culprits) { old, _ in old }
        }
    }

    /// Refuses what makes the database larger than it may be, one operation after the other. Deletes
    /// make room for what follows them.
    private func refuseGrowth(of drafts: [ModifyDraft?], _ errors: inout [Int: WireError]) throws {
        guard let bytesLeft = context.bytesLeft else { return }
        var total: Int64 = 0
        for (index, draft) in drafts.enumerated() {
            guard let draft else { continue }
            let before = try draft.before?.spaceBytes() ?? 0
            let growth = try (draft.after?.spaceBytes() ?? 0) - before
            guard growth > 0, total + growth > bytesLeft else {
                total += growth
                continue
            }
            errors[index] = WireError(
                .quotaExceeded, "The space is used up: \(growth) bytes more, \(bytesLeft) left.")
        }
    }

    /// Refuses references with DELETE_SELF to a record that has as many as it may have.
    private func refuseSources(
        of drafts: [ModifyDraft?], _ errors: inout [Int: WireError]
    ) throws {
        let most = context.limits.sourcesPerRecord
        // By target: the sources that were there or that the request adds.
        var sources: [String: Set<String>] = [:]
        for index in drafts.indices where errors[index] == nil {
            guard let links = drafts[index]?.links, !links.isEmpty,
                let name = drafts[index]?.recordName
            else { continue }
            do {
                for link in links where link.kind == .deleteSelf {
                    var names = try sources[link.target] ?? storedSources(of: link.target)
                    names.insert(name)
                    guard names.count <= most else {
                        throw WireError(
                            .limitExceeded,
                            "\(most) records refer to '\(link.target)' with DELETE_SELF already.")
                    }
                    sources[link.target] = names
                }
            } catch let error as WireError {
                errors[index] = error
            }
        }
    }

    private func storedSources(of target: String) throws -> Set<String> {
        var names: Set<String> = []
        try view.visitSources(of: target, .deleteSelf) { name in
            guard budget.allows(visits: 1) else { throw ModifyBudget.tooMuch }
            names.insert(name)
            return names.count <= context.limits.sourcesPerRecord
        }
        return names
    }

    private func refuseDeletes(of drafts: [ModifyDraft?], _ errors: inout [Int: WireError]) {
        for (index, draft) in drafts.enumerated()
        where errors[index] == nil && draft?.kind == .remove {
            errors[index] = WireError(
                .limitExceeded,
                "The deletes of the request depend on one another in too many steps. Send the "
                    + "operation in another one.")
        }
    }

    private func failedPlan(
        _ operations: [WireRecordOperation], _ errors: [Int: WireError]
    ) -> ModifyPlan {
        let innocent = WireError(.atomicError, "Another record of the request failed.")
        return ModifyPlan(
            results: operations.enumerated().map { index, operation in
                .failed(operation.record.recordName, errors[index] ?? innocent)
            })
    }

    /// Gives each change its place in the feed, its tag and its time.
    private func plan(
        _ operations: [WireRecordOperation], _ drafts: [ModifyDraft?], _ errors: [Int: WireError],
        _ attempt: ModifyAttempt<View>
    ) throws -> ModifyPlan {
        var plan = ModifyPlan(results: [])
        plan.writes.reserveCapacity(attempt.steps.count)
        // By their places among the writes. A record changes twice only if it is deleted.
        var saved = [Int?](repeating: nil, count: operations.count)
        var latest: [String: Int] = [:]
        let hasDeletes = attempt.steps.contains { $0.draft.kind == .remove }
        var sequence = context.sequence
        for step in attempt.steps {
            sequence += 1
            let before = latest[step.recordName].map { plan.writes[$0] }
            let old = try before?.after ?? cache.record(step.recordName, in: view)
            var after = step.draft.after ?? StoredRecord.tombstone(of: old, step.recordName)
            after.sequence = sequence
            after.changeTag = String(sequence, radix: 36) + context.tagSuffix
            after.modified = max(context.now, (old?.modified ?? 0) + 1)
            after.modifiedBy = context.user
            if old?.isDeleted != false, !after.isDeleted {
                after.created = after.modified
                after.createdBy = context.user
            }
            let fields = try before == nil ? old?.fieldsWithLinksOrAssets() ?? [:] : [:]
            if hasDeletes { latest[step.recordName] = plan.writes.count }
            if step.draft.kind == .save { saved[step.cause] = plan.writes.count }
            plan.writes.append(
                ModifyPlan.Write(
                    before: old, after: after,
                    linksBefore: before?.linksAfter
                        ?? RecordLink.links(of: fields, parent: old?.parent ?? ""),
                    linksAfter: step.draft.links,
                    assetsBefore: before?.assetsAfter ?? fields.assetChecksums,
                    assetsAfter: step.draft.assets))
        }
        plan.results = operations.enumerated().map { index, operation in
            let name = operation.record.recordName
            if let error = errors[index] { return .failed(name, error) }
            if let place = saved[index] { return .saved(plan.writes[place].after) }
            return .deleted(name ?? "")
        }
        return plan
    }
}

extension StoredRecord {
    /// What is left of a record that is deleted.
    static func tombstone(of record: StoredRecord?, _ name: String) -> StoredRecord {
        var tombstone = record ?? StoredRecord(recordName: name, recordType: "")
        tombstone.isDeleted = true
        tombstone.hasAssets = false
        tombstone.hasLinks = false
        tombstone.parent = ""
        tombstone.fieldsJSON = Array("{}".utf8)
        return tombstone
    }

    /// The fields if they matter to links or files; none otherwise, which saves reading them.
    fileprivate func fieldsWithLinksOrAssets() throws(HubError) -> WireFields {
        guard hasLinks || hasAssets else { return [:] }
        return try fields()
    }
}
