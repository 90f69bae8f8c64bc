import BackstitchCore

extension ZoneState {
    /// Applies a modify request: checks it, then writes it, or nothing where it is atomic and one
    /// operation fails.
    ///
    /// - Parameter imposed: Errors that some operations are to have whatever they say, by index.
    mutating func modify(
        _ operations: [RecordModification], atomic: Bool, rules: RecordRules,
        imposed: [Int: ServiceError], requestNumber: Int, stamp: inout WriteStamp
    ) -> Result<[ModificationResult], ServiceError> {
        if let error = rules.countFault(operations) {
            guard rules.options.wrapsLimitExceeded else { return .failure(error) }
            return .success(operations.map { _ in .failed(error) })
        }
        var plans: [PlannedWrite] = []
        plans.reserveCapacity(operations.count)
        var anyFailed = false
        for (index, operation) in operations.enumerated() {
            let name = operation.recordName
            guard RecordRules.isRecordName(name) else {
                var plan = PlannedWrite(kind: .delete, slot: -1)
                plan.error = ServiceError(.invalidRequest, reason: "not a record name")
                plans.append(plan)
                anyFailed = true
                continue
            }
            let slot = slot(named: name)
            guard slots[slot].requestNumber != requestNumber else {
                return .failure(
                    ServiceError(
                        .invalidRequest, reason: "more than one operation for one record"))
            }
            slots[slot].requestNumber = requestNumber
            plans.append(plan(operation, slot: slot, rules: rules))
            if let error = imposed[index] { plans[index].error = error }
            anyFailed = anyFailed || plans[index].error != nil
        }
        if atomic && anyFailed { return .success(Self.failedBatch(plans)) }
        var results: [ModificationResult] = []
        results.reserveCapacity(plans.count)
        guard !links.isEmpty || plans.contains(where: { !$0.links.isEmpty }) else {
            for plan in plans { results.append(apply(plan, stamp: &stamp)) }
            compactFeed()
            return .success(results)
        }
        while true {
            var journal = WriteJournal(feedCount: feed.count)
            results.removeAll(keepingCapacity: true)
            for (index, plan) in plans.enumerated() {
                results.append(apply(plan, at: index, stamp: &stamp, journal: &journal))
            }
            let culprits = culprits(of: plans, journal: journal, rules: rules)
            if culprits.isEmpty { break }
            for (slot, old) in journal.old.reversed() { putBack(old, at: slot) }
            feed.removeLast(feed.count - journal.feedCount)
            for (index, error) in culprits { plans[index].error = error }
            if atomic { return .success(Self.failedBatch(plans)) }
        }
        compactFeed()
        return .success(results)
    }

    private static func failedBatch(_ plans: [PlannedWrite]) -> [ModificationResult] {
        let innocent = ServiceError(.batchFailed, reason: "another record of the batch failed")
        return plans.map { .failed($0.error ?? innocent) }
    }

    /// Writes one operation of a request that has to do with no links.
    private mutating func apply(
        _ plan: PlannedWrite, stamp: inout WriteStamp
    ) -> ModificationResult {
        if let error = plan.error { return .failed(error) }
        guard var record = plan.record else {
            store(nil, bytes: 0, links: [], at: plan.slot)
            return .deleted
        }
        stamp.stamp(&record, after: slots[plan.slot].record?.modifiedMilliseconds ?? 0)
        store(record, bytes: plan.bytes, links: plan.links, at: plan.slot)
        return .saved(
            changeTag: record.changeTag, modifiedMilliseconds: record.modifiedMilliseconds)
    }
}

extension RecordRules {
    /// What is wrong with the size of a request; nil where nothing is.
    func countFault(_ operations: [RecordModification]) -> ServiceError? {
        guard operations.count <= limits.operationsPerRequest else {
            return ServiceError(
                .limitExceeded,
                reason: "\(operations.count) operations of \(limits.operationsPerRequest)")
        }
        let bytes = operations.reduce(0) { $0 + $1.byteCount }
        guard bytes <= limits.requestBytes else {
            return ServiceError(
                .limitExceeded, reason: "\(bytes) bytes of \(limits.requestBytes)")
        }
        return nil
    }
}

extension RecordModification {
    /// The size that the limits count.
    var byteCount: Int {
        switch self {
        case .create(let name, let recordType, let fields):
            fields.reduce(name.utf8.count + recordType.utf8.count) {
                $0 + $1.key.utf8.count + $1.value.byteCount
            }
        case .update(let name, let recordType, let changeTag, let fields):
            fields.reduce(name.utf8.count + recordType.utf8.count + changeTag.utf8.count) {
                $0 + $1.key.utf8.count + $1.value.byteCount
            }
        case .delete(let name, let changeTag): name.utf8.count + changeTag.utf8.count
        }
    }
}
