import BackstitchCore

/// What a request has written so far, so that it can be taken back.
struct WriteJournal: Sendable {
    /// The length of the feed before the request.
    var feedCount: Int
    /// The slots as they were before each write, oldest first.
    var old: [(slot: Int, was: RecordSlot)] = []
    /// Which operation wrote or deleted each slot last.
    var writers: [Int: Int] = [:]
    /// The slots that were deleted, also by cascade, each with the operation that did it.
    var removed: [(slot: Int, operation: Int)] = []
    /// Updates that found their record gone, by a delete of the same request.
    var lateFailures: [Int: ServiceError] = [:]

    init(feedCount: Int) {
        self.feedCount = feedCount
    }
}

extension ZoneState {
    /// Writes one operation, cascades its delete, and notes what it did.
    mutating func apply(
        _ plan: PlannedWrite, at index: Int, stamp: inout WriteStamp, journal: inout WriteJournal
    ) -> ModificationResult {
        let old = slots[plan.slot]
        guard var record = plan.record else {
            // Gone already by cascade from an earlier delete of this request: done as asked.
            let removed = removeCascading(plan.slot) { journal.old.append(($0, $1)) }
            for slot in removed {
                journal.removed.append((slot, index))
                journal.writers[slot] = index
            }
            return .deleted
        }
        if plan.kind == .update && old.record == nil {
            let error = ServiceError(.unknownItem, "record deleted by the same request")
            journal.lateFailures[index] = error
            return .failed(error)
        }
        journal.old.append((plan.slot, old))
        journal.writers[plan.slot] = index
        stamp.stamp(&record, after: old)
        store(record, bytes: plan.bytes, links: plan.links, at: plan.slot)
        return .saved(
            changeTag: record.changeTag, modifiedMilliseconds: record.modifiedMilliseconds)
    }

    /// The operations that leave a VALIDATE reference without a target, or a target with too many
    /// DELETE_SELF sources; judged by what the whole request leads to.
    func culprits(
        of plans: [PlannedWrite?], errors: [Int: ServiceError], journal: WriteJournal,
        rules: RecordRules
    ) -> [Int: ServiceError] {
        var culprits = journal.lateFailures
        let dangling = ServiceError(
            .referenceViolation, "the target of a validating reference does not exist")
        for (index, plan) in plans.enumerated() where errors[index] == nil {
            guard let plan, !plan.links.isEmpty, slots[plan.slot].record != nil else { continue }
            for link in plan.links {
                if link.isValidating {
                    let target = slotsByName[link.target]
                    if let target, slots[target].record != nil { continue }
                    let remover = target.flatMap { journal.writers[$0] } ?? index
                    culprits[max(index, remover)] = dangling
                } else if let count = links[link.target]?.deleteSelf.count,
                    count > rules.options.deleteSelfSourcesMax
                {
                    culprits[index] = ServiceError(
                        .referenceViolation, "\(count) references that delete themselves")
                }
            }
        }
        for (slot, operation) in journal.removed where slots[slot].record == nil {
            for source in links[slots[slot].name]?.validate ?? []
            where journal.writers[source] == nil {
                culprits[operation] = ServiceError(
                    .referenceViolation,
                    "record delete would violate validating reference, rejecting update")
            }
        }
        return culprits
    }
}
