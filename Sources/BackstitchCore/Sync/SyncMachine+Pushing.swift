/// What one pass over the outbox has done and has still to do.
struct PushPass: Sendable {
    var items: [PushItem] = []
    /// Positions that are still to be sent, in order.
    var queue: [Int] = []
    /// Positions that go alone, because the service refused them in company.
    var alone: Set<Int> = []
    var attempts: [Int: Int] = [:]
    var isComplete = true
    /// How many items were decided in this pass.
    var decided = 0
    /// Whether an item was merged: some of its operations may still have to be pushed.
    var hasMerged = false
    var passes = 0
    /// The failure that a later round has to settle; the one with the longest wait.
    var transient: ServiceError?
    var blocked: ServiceError?
}

extension SyncMachine {
    mutating func folded(_ items: [PushItem], isComplete: Bool) -> SyncAction {
        let (order, arranged) = PushOrder.arrange(items)
        let passes = push.passes
        push = PushPass()
        push.passes = passes
        push.items = arranged
        push.queue = order
        push.isComplete = isComplete
        return nextBatch()
    }

    /// Takes the next batch from the queue, within the limits of count and bytes.
    mutating func nextBatch() -> SyncAction {
        guard push.blocked == nil, let first = push.queue.first else { return endOfQueue() }
        var batch: [Int] = []
        if push.alone.contains(first) {
            batch = [first]
        } else {
            var bytes = 0
            for index in push.queue {
                let item = push.items[index]
                if push.alone.contains(index) || batch.count >= batchCount { break }
                if !batch.isEmpty, bytes + item.byteCount > limits.requestBytes { break }
                bytes += item.byteCount
                batch.append(index)
            }
        }
        push.queue.removeFirst(batch.count)
        for index in batch { push.attempts[index, default: 0] += 1 }
        state = .pushing(batch)
        return .push(batch, atomic: isAtomic)
    }

    private mutating func endOfQueue() -> SyncAction {
        if let blocked = push.blocked { return finish(.blocked(blocked)) }
        if push.transient != nil || push.hasMerged || push.decided < push.items.count {
            return endPass()
        }
        state = .raisingFloor
        return .raiseFloor
    }

    /// Folds again while that gets anywhere: a merge leaves something to push, and a window of the
    /// outbox may not be the last.
    mutating func endPass() -> SyncAction {
        if let transient = push.transient { return finish(.backOff(transient)) }
        guard push.decided > 0 || !push.isComplete else { return finish(.completed) }
        guard push.passes < Self.passesMax else {
            return finish(
                .backOff(
                    ServiceError(
                        .conflict, reason: "Others change the same records all the time.")))
        }
        return fold()
    }

    // MARK: Replies

    mutating func pushed(_ indexes: [Int], _ results: [ModificationResult]) -> SyncAction {
        guard results.count == indexes.count else {
            return finish(
                .backOff(
                    ServiceError(
                        .serviceUnavailable,
                        reason: "The reply has \(results.count) results for \(indexes.count) "
                            + "records.")))
        }
        var decisions: [ItemDecision] = []
        var lookUps: [Int] = []
        for (index, result) in zip(indexes, results) {
            switch result {
            case .saved(let tag, let modified):
                let version = ServerVersion(changeTag: tag, modifiedMilliseconds: modified)
                let isPart = !push.items[index].deferredFields.isEmpty
                decisions.append(
                    ItemDecision(
                        index, isPart ? .acknowledgePart(version) : .acknowledge(version)))
            case .deleted:
                decisions.append(ItemDecision(index, .acknowledge(nil)))
            case .failed(let error):
                if error.endsZone { return handle(.failed(error)) }
                decide(index, error, isAlone: indexes.count == 1, &decisions, &lookUps)
            }
        }
        if decisions.contains(where: \.isAcknowledgement), batchCount < limits.operationsPerRequest
        {
            batchCount = min(limits.operationsPerRequest, batchCount + max(1, batchCount / 8))
        }
        return apply(decisions, lookUpNext: lookUps)
    }

    private mutating func decide(
        _ index: Int, _ error: ServiceError, isAlone: Bool, _ decisions: inout [ItemDecision],
        _ lookUps: inout [Int]
    ) {
        let item = push.items[index]
        switch error.code {
        case .conflict, .alreadyExists:
            if let record = error.serverRecord {
                decisions.append(ItemDecision(index, .merge(record)))
            } else {
                lookUps.append(index)
            }
        case .unknownItem:
            decisions.append(
                ItemDecision(index, item.isCreate ? .park(error) : .mergeAbsent))
        case .batchFailed:
            requeue(index, error)
        case .limitExceeded:
            if isAlone {
                decisions.append(ItemDecision(index, .park(error)))
            } else {
                push.alone.insert(index)
                requeue(index, error)
            }
        case .referenceViolation:
            // The target may be on its way: later in the queue, or refused for a while.
            let waits = push.queue.contains {
                item.requires.contains(push.items[$0].modification.recordName) || item.isDelete
            }
            if waits, push.attempts[index, default: 0] < Self.attemptsMax {
                requeue(index, error)
            } else {
                decisions.append(ItemDecision(index, .park(error)))
            }
        case .permissionDenied, .invalidRequest, .assetMissing:
            decisions.append(ItemDecision(index, .park(error)))
        case .rateLimited, .zoneBusy, .serviceUnavailable, .network, .tokenExpired:
            note(transient: error)
        case .quotaExceeded, .notAuthenticated, .accountChanged, .incompatibleVersion:
            push.blocked = error
        case .zoneNotFound, .zoneDeletedByUser, .zonePurged, .encryptedDataReset:
            preconditionFailure("The end of a zone is no matter of one record.")
        }
    }

    private mutating func requeue(_ index: Int, _ error: ServiceError) {
        if push.attempts[index, default: 0] < Self.attemptsMax {
            push.queue.append(index)
        } else {
            note(transient: error)
        }
    }

    private mutating func note(transient error: ServiceError) {
        let wait = push.transient?.retryAfterSeconds ?? -1
        if push.transient == nil || (error.retryAfterSeconds ?? 0) > wait { push.transient = error }
    }

    private mutating func apply(
        _ decisions: [ItemDecision], lookUpNext: [Int]
    ) -> SyncAction {
        push.decided += decisions.count
        if !decisions.allSatisfy(\.settles) { push.hasMerged = true }
        guard !decisions.isEmpty else {
            return lookUpNext.isEmpty ? nextBatch() : lookUp(lookUpNext)
        }
        state = .applying(lookUpNext: lookUpNext)
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
            var lookUps: [Int] = []
            for index in indexes {
                decide(index, error, isAlone: true, &decisions, &lookUps)
            }
            return apply(decisions, lookUpNext: lookUps)
        }
        batchCount = max(1, indexes.count / 2)
        // Sending smaller parts is no new attempt of the items in them.
        for index in indexes { push.attempts[index, default: 1] -= 1 }
        push.queue.insert(contentsOf: indexes, at: 0)
        return nextBatch()
    }

    // MARK: Lookups

    mutating func lookUp(_ indexes: [Int]) -> SyncAction {
        state = .lookingUp(indexes)
        return .lookUp(indexes)
    }

    mutating func lookedUp(_ indexes: [Int], _ results: [LookupResult]) -> SyncAction {
        guard results.count == indexes.count else {
            return finish(
                .backOff(
                    ServiceError(
                        .serviceUnavailable,
                        reason: "The reply has \(results.count) results for \(indexes.count) "
                            + "records.")))
        }
        var decisions: [ItemDecision] = []
        for (index, result) in zip(indexes, results) {
            switch result {
            case .found(let record):
                decisions.append(ItemDecision(index, .merge(record)))
            case .notFound:
                // Gone in the meantime: a create is sent again, anything else is merged.
                if push.items[index].isCreate {
                    requeue(index, ServiceError(.unknownItem))
                } else {
                    decisions.append(ItemDecision(index, .mergeAbsent))
                }
            case .failed(let error):
                if error.endsZone { return handle(.failed(error)) }
                switch error.code {
                case .quotaExceeded, .notAuthenticated, .accountChanged, .incompatibleVersion:
                    push.blocked = error
                case .permissionDenied, .invalidRequest:
                    decisions.append(ItemDecision(index, .park(error)))
                default:
                    note(transient: error)
                }
            }
        }
        return apply(decisions, lookUpNext: [])
    }

    /// A lookup was refused as a whole: ask for less, and give up on one that is refused alone.
    mutating func lookUpRefused(_ indexes: [Int], _ error: ServiceError) -> SyncAction {
        note(transient: error)
        return nextBatch()
    }
}

extension ServiceError {
    /// Whether the failure speaks of the zone and not of one record.
    var endsZone: Bool {
        switch code {
        case .zoneNotFound, .zoneDeletedByUser, .zonePurged, .encryptedDataReset: true
        default: false
        }
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
