/// What one pass over the outbox has done and has still to do.
struct PushState: Equatable, Sendable {
    var items: [PushItem] = []
    /// Positions that are still to be sent, in order.
    var queue: [Int] = []
    /// Positions that go alone, because the service refused them in company.
    var alone: Set<Int> = []
    var attempts: [Int: Int] = [:]
    var isComplete = true
    /// Positions that were acknowledged or parked: what refers to them need not wait for them.
    var settled: Set<Int> = []
    /// Positions that the last reply refused for a reference.
    var refused: Set<Int> = []
    /// How many items were decided in this pass.
    var decided = 0
    /// Whether an item was merged: some of its operations may still have to be pushed.
    var hasMerged = false
    /// Positions whose version on the service is still to be looked up.
    var lookUps: [Int] = []
    /// Those of them that the service called unknown.
    var unknown: Set<Int> = []
    /// The most records of a lookup for now; halved when the service refuses its size.
    var lookUpCount = Int.max
    var blocked: ServiceError?

    // What holds for all passes of a round.

    /// The passes since the outbox was last advanced in.
    var passes = 0
    /// Whether the pass begins after records that wait for a later round.
    var isBehindPostponed = false
    /// The records that wait for a later round.
    var postponed: Set<String> = []
    /// The failure that a later round has to settle; the one with the longest wait.
    var transient: ServiceError?

    /// Takes the next positions from the queue, at least one.
    mutating func takeBatch(most countMax: Int, bytesMax: Int) -> [Int] {
        var batch: [Int] = []
        var bytes = 0
        for index in queue {
            let isAlone = alone.contains(index)
            bytes += items[index].byteCount
            let isFull = batch.count >= countMax || bytes > bytesMax || isAlone
            if isFull, !batch.isEmpty { break }
            batch.append(index)
            if isAlone { break }
        }
        queue.removeFirst(batch.count)
        for index in batch { attempts[index, default: 0] += 1 }
        return batch
    }

    /// A pass of the same round.
    var next: PushState {
        var next = PushState()
        next.passes = passes
        next.isBehindPostponed = isBehindPostponed
        next.postponed = postponed
        next.transient = transient
        return next
    }
}
