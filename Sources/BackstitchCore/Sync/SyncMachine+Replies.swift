extension SyncMachine {
    mutating func pushed(_ indexes: [Int], _ results: [ModificationResult]) -> SyncAction {
        guard results.count == indexes.count else {
            return finish(.backOff(.oddCount(results.count, of: indexes.count)))
        }
        if indexes.count > 1, results.allSatisfy(\.isLimitExceeded),
            case .failed(let error)? = results.first
        {
            return refused(indexes, error)
        }
        var decisions: [ItemDecision] = []
        var failures: [(index: Int, error: ServiceError)] = []
        for (index, result) in zip(indexes, results) {
            let item = push.items[index]
            switch result {
            case .saved(let tag, let modified) where !item.isDelete && (1...255) ~= tag.utf8.count:
                let version = ServerVersion(changeTag: tag, modifiedMilliseconds: modified)
                let isPart = !item.deferredFields.isEmpty
                decisions.append(
                    ItemDecision(
                        index, isPart ? .acknowledgePart(version) : .acknowledge(version)))
            case .deleted where item.isDelete:
                decisions.append(ItemDecision(index, .acknowledge(nil)))
            case .saved where !item.isDelete:
                postpone(index, .oddReply("no change tag of 1 to 255 bytes for", item))
            case .saved, .deleted:
                postpone(index, .oddReply("a result of another kind for", item))
            case .failed(let error):
                if error.code.scope == .zone { return handle(.failed(error)) }
                failures.append((index, error))
            }
        }
        push.settled.formUnion(decisions.map(\.index))
        // What is refused for a reference depends on what became of its target.
        push.refused = Set(
            failures.filter { $0.error.code == .referenceViolation }.map(\.index))
        for (index, error) in failures where error.code != .referenceViolation {
            decide(index, error, isAlone: indexes.count == 1, &decisions)
        }
        for (index, error) in failures where error.code == .referenceViolation {
            decide(index, error, isAlone: indexes.count == 1, &decisions)
        }
        if decisions.contains(where: \.isAcknowledgement), batchCount < limits.operationsPerRequest
        {
            batchCount = min(limits.operationsPerRequest, batchCount + max(1, batchCount / 8))
        }
        return apply(decisions)
    }

    private mutating func decide(
        _ index: Int, _ error: ServiceError, isAlone: Bool, _ decisions: inout [ItemDecision]
    ) {
        let item = push.items[index]
        switch error.code.retry {
        case .after(.merge):
            if let record = error.serverRecord {
                decide(index, record, error, &decisions)
            } else {
                push.lookUps.append(index)
            }
        case .after(.lookUp):
            if item.isCreate {
                park(index, error, &decisions)
            } else {
                // A lookup tells whether it is really gone: what is at stake is the local version.
                push.unknown.insert(index)
                push.lookUps.append(index)
            }
        case .now:
            requeue(index, error)
        case .after(.split):
            if isAlone {
                park(index, error, &decisions)
            } else {
                push.alone.insert(index)
                requeue(index, error)
            }
        case .after(.references):
            decide(index, refusedForReference: error, &decisions)
        case .never, .after(.upload):
            park(index, error, &decisions)
        case .later, .after(.newToken):
            postpone(index, error)
        case .after(.change):
            block(error)
        case .after(.newZone), .after(.decision):
            preconditionFailure("The end of a zone is no matter of one record.")
        }
    }

    /// Decides about an item whose record the service has in another version.
    mutating func decide(
        _ index: Int, _ record: ServiceRecord, _ error: ServiceError,
        _ decisions: inout [ItemDecision]
    ) {
        let modification = push.items[index].modification
        if record.recordName != modification.recordName {
            postpone(index, .oddReply("another record in the place of", push.items[index]))
        } else if record.changeTag.isEmpty {
            postpone(index, .oddReply("an empty change tag for", push.items[index]))
        } else if case .create(_, let type, _) = modification, type != record.recordType {
            park(
                index,
                ServiceError(
                    error.code,
                    "A record of type \(record.recordType) has the name already."),
                &decisions)
        } else if let tag = modification.changeTag, tag == record.changeTag {
            // A conflict with the very version that was sent: a reply from an older state.
            postpone(index, error)
        } else {
            decisions.append(ItemDecision(index, .merge(record)))
        }
    }

    /// Decides about an item that refers to what is not there, or deletes what others refer to.
    ///
    /// It is sent again after what it may wait for, and waits for a later pass or round if that
    /// was not settled; if nothing is left to wait for, it is parked.
    private mutating func decide(
        _ index: Int, refusedForReference error: ServiceError, _ decisions: inout [ItemDecision]
    ) {
        let item = push.items[index]
        func mayWait(for other: Int) -> Bool {
            guard other != index, !push.settled.contains(other) else { return false }
            if item.isDelete { return !push.items[other].isCreate && !push.refused.contains(other) }
            return item.requires.contains(push.items[other].modification.recordName)
        }
        let hasAttempts = push.attempts[index, default: 0] < Self.attemptsMax
        if hasAttempts, push.queue.contains(where: mayWait) {
            // In an atomic request it would take what it waits for down with it again.
            if isAtomic { push.alone.insert(index) }
            push.queue.append(index)
            return
        }
        let open = push.items.indices.filter(mayWait)
        let isPostponed = open.contains {
            push.postponed.contains(push.items[$0].modification.recordName)
        }
        if isPostponed || push.lookUps.contains(where: open.contains) {
            postpone(index, error)
        } else if open.isEmpty || !hasAttempts {
            park(index, error, &decisions)
        } else {
            // Its target was merged, and the next pass may push it.
            push.hasMerged = true
        }
    }

    mutating func park(
        _ index: Int, _ error: ServiceError, _ decisions: inout [ItemDecision]
    ) {
        push.settled.insert(index)
        decisions.append(ItemDecision(index, .park(error)))
    }

    mutating func requeue(_ index: Int, _ error: ServiceError) {
        if push.attempts[index, default: 0] < Self.attemptsMax {
            push.queue.append(index)
        } else {
            postpone(index, error)
        }
    }

    /// Leaves an item to a later round.
    mutating func postpone(_ index: Int, _ error: ServiceError) {
        push.postponed.insert(push.items[index].modification.recordName)
        let wait = push.transient?.retryAfter ?? .zero
        if push.transient == nil || (error.retryAfter ?? .zero) > wait { push.transient = error }
    }

    /// Notes a failure that outlasts the round; a full account is the least of them.
    mutating func block(_ error: ServiceError) {
        if push.blocked == nil || push.blocked?.code == .quotaExceeded { push.blocked = error }
    }

    mutating func apply(_ decisions: [ItemDecision]) -> SyncAction {
        push.decided += decisions.count
        if !decisions.allSatisfy(\.settles) { push.hasMerged = true }
        guard !decisions.isEmpty else { return nextBatch() }
        state = .applying
        return .apply(decisions)
    }

    /// The service refused a request as a whole: smaller ones tell which record is to blame.
    mutating func refused(_ indexes: [Int], _ error: ServiceError) -> SyncAction {
        if error.code == .batchFailed {
            for index in indexes { requeue(index, error) }
            return nextBatch()
        }
        guard indexes.count > 1 else {
            var decisions: [ItemDecision] = []
            for index in indexes { decide(index, error, isAlone: true, &decisions) }
            return apply(decisions)
        }
        batchCount = max(1, indexes.count / 2)
        // Sending smaller parts is no new attempt of the items in them.
        for index in indexes { push.attempts[index, default: 1] -= 1 }
        push.queue.insert(contentsOf: indexes, at: 0)
        return nextBatch()
    }
}

extension ServiceError {
    /// What is made of a reply that does not fit its request.
    static func oddReply(_ what: String, _ item: PushItem) -> ServiceError {
        ServiceError(
            .serviceUnavailable,
            "The reply has \(what) the record '\(item.modification.recordName)'.")
    }

    /// What is made of a reply that has more or fewer results than its request has records.
    package static func oddCount(_ results: Int, of records: Int) -> ServiceError {
        ServiceError(
            .serviceUnavailable,
            "The reply has \(results) result\(results == 1 ? "" : "s") for "
                + "\(records) record\(records == 1 ? "" : "s").")
    }
}

extension ItemDecision {
    /// Whether nothing of the operations that were folded is left to push.
    var settles: Bool {
        switch kind {
        case .acknowledge, .acknowledgePart, .park: true
        case .merge, .mergeAbsent: false
        }
    }

    var isAcknowledgement: Bool {
        switch kind {
        case .acknowledge, .acknowledgePart: true
        case .merge, .mergeAbsent, .park: false
        }
    }
}

extension ModificationResult {
    var isLimitExceeded: Bool {
        if case .failed(let error) = self { error.code == .limitExceeded } else { false }
    }
}

extension RecordModification {
    /// The version that the operation expects; nil for a create.
    var changeTag: String? {
        switch self {
        case .create: nil
        case .update(_, _, let tag, _), .delete(_, let tag): tag
        }
    }
}
