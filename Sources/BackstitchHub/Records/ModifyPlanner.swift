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

    /// The records that were read, so that each is read once.
    final class RecordCache {
        private var records: [String: StoredRecord?] = [:]

        func record(_ name: String, in view: View) throws -> StoredRecord? {
            if let record = records[name] { return record }
            let record = try view.record(name)
            records[name] = .some(record)
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
        try refuseGrowth(of: drafts, &errors)
        while true {
            if isAtomic, !errors.isEmpty { return failedPlan(operations, errors) }
            var attempt = ModifyAttempt(view: view, cache: cache)
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
        // By their places among the writes.
        var saved: [Int: Int] = [:]
        var latest: [String: Int] = [:]
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
            latest[step.recordName] = plan.writes.count
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

    /// The fields where they matter to links or files; none otherwise, which saves reading them.
    fileprivate func fieldsWithLinksOrAssets() throws(HubFailure) -> WireFields {
        guard hasLinks || hasAssets else { return [:] }
        return try fields()
    }
}
