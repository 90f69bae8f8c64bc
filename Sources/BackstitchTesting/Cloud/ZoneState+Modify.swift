import BackstitchCore

extension ZoneState {
    /// Applies a modify request: checks it, then writes it, or nothing if it is atomic and one
    /// operation fails.
    ///
    /// - Parameter imposed: Errors that some operations are to have whatever they say, by index.
    mutating func modify(
        _ operations: [RecordModification], atomic: Bool, rules: RecordRules,
        imposed: [Int: ServiceError], requestNumber: Int, stamp: inout WriteStamp
    ) -> Result<[ModificationResult], ServiceError> {
        guard operations.count <= rules.limits.operationsPerRequest else {
            return rules.tooMuch(operations, "\(operations.count) operations")
        }
        var plans: [PlannedWrite?] = []
        plans.reserveCapacity(operations.count)
        var errors = imposed
        var requestBytes = 0
        var hasLinks = false
        for (index, operation) in operations.enumerated() {
            let name = operation.recordName
            var plan: PlannedWrite?
            if ServiceNames.isRecordName(name) {
                let slot = slot(named: name)
                guard slots[slot].requestNumber != requestNumber else {
                    return .failure(
                        ServiceError(
                            .invalidRequest, "more than one operation for one record"))
                }
                slots[slot].requestNumber = requestNumber
                do throws(ServiceError) {
                    plan = try self.plan(operation, slot: slot, rules: rules)
                } catch {
                    if errors[index] == nil { errors[index] = error }
                }
            } else {
                errors[index] = ServiceError(.invalidRequest, "not a record name")
            }
            requestBytes += plan?.requestBytes ?? operation.byteCount
            hasLinks = hasLinks || plan?.links.isEmpty == false
            plans.append(plan)
        }
        guard requestBytes <= rules.limits.requestBytes else {
            return rules.tooMuch(operations, "\(requestBytes) bytes")
        }
        if atomic && !errors.isEmpty { return .success(Self.failedBatch(plans.count, errors)) }
        let results: [ModificationResult]
        if links.isEmpty && !hasLinks {
            results = applyUnlinked(&plans, errors: errors, stamp: &stamp)
        } else {
            results = applyLinked(
                plans, errors: errors, atomic: atomic, rules: rules, stamp: &stamp)
        }
        compactFeed()
        return .success(results)
    }

    /// Writes a request if no reference matters.
    private mutating func applyUnlinked(
        _ plans: inout [PlannedWrite?], errors: [Int: ServiceError], stamp: inout WriteStamp
    ) -> [ModificationResult] {
        var results: [ModificationResult] = []
        results.reserveCapacity(plans.count)
        for index in plans.indices {
            if !errors.isEmpty, let error = errors[index] {
                results.append(.failed(error))
            } else if let plan = plans[index].take() {
                results.append(apply(plan, stamp: &stamp))
            }
        }
        return results
    }

    /// Writes a request, and takes it back as long as there are operations that references forbid.
    private mutating func applyLinked(
        _ plans: [PlannedWrite?], errors: [Int: ServiceError], atomic: Bool, rules: RecordRules,
        stamp: inout WriteStamp
    ) -> [ModificationResult] {
        var errors = errors
        while true {
            var results: [ModificationResult] = []
            results.reserveCapacity(plans.count)
            var journal = WriteJournal(feedCount: feed.count)
            for index in plans.indices {
                if let error = errors[index] {
                    results.append(.failed(error))
                } else if let plan = plans[index] {
                    results.append(apply(plan, at: index, stamp: &stamp, journal: &journal))
                }
            }
            let culprits = culprits(of: plans, errors: errors, journal: journal, rules: rules)
            if culprits.isEmpty { return results }
            for (slot, old) in journal.old.reversed() { putBack(old, at: slot) }
            feed.removeLast(feed.count - journal.feedCount)
            for (index, error) in culprits { errors[index] = error }
            if atomic { return Self.failedBatch(plans.count, errors) }
        }
    }

    private static func failedBatch(
        _ count: Int, _ errors: [Int: ServiceError]
    ) -> [ModificationResult] {
        let innocent = ServiceError(.batchFailed, "another record of the batch failed")
        return (0..<count).map { .failed(errors[$0] ?? innocent) }
    }

    /// Writes one operation of a request that has to do with no links.
    private mutating func apply(
        _ plan: PlannedWrite, stamp: inout WriteStamp
    ) -> ModificationResult {
        guard var record = plan.record else {
            store(nil, bytes: 0, links: [], at: plan.slot)
            return .deleted
        }
        stamp.stamp(&record, after: slots[plan.slot])
        store(record, bytes: plan.bytes, links: plan.links, at: plan.slot)
        return .saved(
            changeTag: record.changeTag, modifiedMilliseconds: record.modifiedMilliseconds)
    }
}

extension RecordRules {
    /// The answer to a request over the limits.
    func tooMuch(
        _ operations: [RecordModification], _ what: String
    ) -> Result<[ModificationResult], ServiceError> {
        let error = ServiceError(.limitExceeded, "a request has too much: \(what)")
        guard options.wrapsLimitExceeded else { return .failure(error) }
        return .success(operations.map { _ in .failed(error) })
    }
}

extension RecordModification {
    /// The size that the limits count.
    var byteCount: Int {
        switch self {
        case .create(let name, let recordType, let fields):
            fields.reduce(name.utf8.count + recordType.utf8.count) {
                $0 + $1.key.utf8.count + $1.value.countedBytes
            }
        case .update(let name, let recordType, let changeTag, let fields):
            fields.reduce(name.utf8.count + recordType.utf8.count + changeTag.utf8.count) {
                $0 + $1.key.utf8.count + $1.value.countedBytes
            }
        case .delete(let name, let changeTag): name.utf8.count + changeTag.utf8.count
        }
    }
}
