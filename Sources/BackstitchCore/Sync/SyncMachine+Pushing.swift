extension SyncMachine {
    mutating func folded(_ items: [PushItem], isComplete: Bool) -> SyncAction {
        let (order, arranged) = PushOrder.arrange(items)
        push = push.next
        push.items = arranged
        push.queue = order
        if !push.postponed.isEmpty {
            push.queue.removeAll {
                push.postponed.contains(arranged[$0].modification.recordName)
            }
        }
        push.isComplete = isComplete
        return nextBatch()
    }

    /// Takes the next batch from the queue, within the limits of count and bytes.
    mutating func nextBatch() -> SyncAction {
        if let blocked = push.blocked {
            // A full account is emptied by deletes, so these still go.
            guard blocked.code == .quotaExceeded else { return finish(.blocked(blocked)) }
            push.queue.removeAll { !push.items[$0].isDelete }
        }
        if !push.lookUps.isEmpty { return lookUp() }
        if push.queue.isEmpty { return endOfQueue() }
        let batch = push.takeBatch(most: batchCount, bytesMax: limits.requestBytes)
        state = .pushing(batch)
        return .push(batch, atomic: isAtomic)
    }

    private mutating func endOfQueue() -> SyncAction {
        if let blocked = push.blocked { return finish(.blocked(blocked)) }
        if push.isBehindPostponed || push.hasMerged || push.decided < push.items.count {
            return endPass()
        }
        state = .raisingFloor
        return .raiseFloor
    }

    /// The floor was raised: the next pass begins after what was folded.
    mutating func raisedFloor() -> SyncAction {
        if !push.isComplete { push.passes = 0 }
        return endPass()
    }

    /// Folds again while that gets anywhere: a merge leaves something to push, and a window of the
    /// outbox may not be the last.
    private mutating func endPass() -> SyncAction {
        let isStuck = push.decided == 0 || (push.transient != nil && !push.hasMerged)
        let isSettled = !push.hasMerged && push.decided == push.items.count
        if isStuck, push.isComplete {
            if let transient = push.transient { return finish(.backOff(transient)) }
            return finish(
                isSettled
                    ? .completed
                    : .backOff(ServiceError(.batchFailed, "Records wait for each other.")))
        }
        if push.items.isEmpty, !push.isComplete {
            // The outbox's floor may have to stay, and the same run would be folded again for ever.
            return fold(continues: true)
        }
        if isStuck && !isSettled || isSettled && push.isBehindPostponed && !push.isComplete {
            // What waits for a later round must not keep the rest of the outbox waiting.
            push.isBehindPostponed = true
            push.passes = 0
            return fold(continues: true)
        }
        guard push.passes < Self.passesMax else {
            // What is saved here while the round pushes is the next round's, however fast it comes.
            if isSettled { return finish(.completed) }
            return finish(
                .backOff(
                    ServiceError(
                        .conflict, "Others change the same records all the time.")))
        }
        return fold()
    }
}
