/// Decides which writes of a group run next, if some fail after they have changed something. They
/// are named by their places in the group.
///
/// Such a failure ends the transaction, and the writes before it have to run again. They run with
/// all that come behind, for one commit, as long as that is cheap; from then on in commits of their
/// own, so that no burst of failures costs more than a constant number of runs a write. Writes keep
/// their order: each sees those before it that succeeded.
package struct CommitPlan: Equatable {
    /// How often a write may have run on average for one commit, when writes run again.
    package static let runsPerWriteMax = 3

    /// The writes that run next, in one transaction, without those that failed; nil when all are done.
    package private(set) var next: Range<Int>?
    private let count: Int
    /// The first write that has no result yet.
    private var start = 0
    private var failed: Set<Int> = []
    /// How often writes ran since the last commit.
    private var runs = 0
    private var isSeparate = false

    package init(count: Int) {
        self.count = count
        next = count == 0 ? nil : 0..<count
    }

    /// Whether any of the next writes has not failed.
    package var runsAny: Bool { next?.contains { !failed.contains($0) } ?? false }

    /// Notes that a write failed and the transaction ended with it.
    package mutating func failed(at index: Int) {
        let again = (start..<index).count { !failed.contains($0) }
        runs += again + 1
        failed.insert(index)
        let isCheap = runs + again <= Self.runsPerWriteMax * (index + 1 - start)
        guard let next, !isCheap, again > 0 else { return }
        self.next = start..<min(index, next.upperBound)
    }

    /// Lets each write have a commit of its own from now on.
    package mutating func separate() {
        isSeparate = true
        next = start..<start + 1
    }

    /// Notes that the next writes have their results.
    package mutating func ended() {
        start = next?.upperBound ?? count
        runs = 0
        next = start == count ? nil : start..<(isSeparate ? start + 1 : count)
    }
}
