import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct CompactionPaceTests {
    private func extent(_ operations: Int, _ through: UInt64, _ limit: UInt64)
        -> CompactionPace.Extent
    {
        CompactionPace.Extent(operations: operations, compactedThrough: through, limit: limit)
    }

    @Test func `small commits save up for a chunk`() {
        var pace = CompactionPace()
        let commits = CompactionPace.operationsPerChunk / CompactionPace.operationsPerOperation
        for _ in 1..<commits { #expect(pace.budget(afterCommitOf: 1) == 0) }
        #expect(pace.budget(afterCommitOf: 1) == CompactionPace.operationsPerChunk)
        pace.spend(CompactionPace.operationsPerChunk)
        #expect(pace.budget(afterCommitOf: 1) == 0)
    }

    @Test func `a large commit works through as many operations as it has`() {
        var pace = CompactionPace()
        #expect(pace.budget(afterCommitOf: 1_500) == CompactionPace.operationsPerCommit)
        #expect(pace.budget(afterCommitOf: 100_000) == 100_000)
        #expect(pace.budget(afterCommitOf: 0) == CompactionPace.operationsPerCommit)
    }

    @Test func `what is not used is not owed for ever`() {
        var pace = CompactionPace()
        for _ in 0..<1_000 { _ = pace.budget(afterCommitOf: 1_000) }
        var worked = 0
        while true {
            let budget = pace.budget(afterCommitOf: 0)
            if budget == 0 { break }
            pace.spend(budget)
            worked += budget
        }
        #expect(worked <= 4 * CompactionPace.operationsPerCommit)
    }

    @Test func `more may be spent than there is`() {
        var pace = CompactionPace()
        pace.spend(1_000)
        #expect(pace == CompactionPace())
    }

    @Test func `a run is due once half of the log may go`() {
        let pace = CompactionPace()
        let least = UInt64(CompactionPace.operationsMin)
        #expect(!pace.isDue(extent(0, 0, 0), at: 0))
        #expect(!pace.isDue(extent(5_000, 0, least - 1), at: 0))
        #expect(pace.isDue(extent(5_000, 0, least), at: 0))
        #expect(!pace.isDue(extent(100_000, 0, 49_999), at: 0))
        #expect(pace.isDue(extent(100_000, 0, 50_000), at: 0))
        #expect(!pace.isDue(extent(100_000, 1_000_000, 1_049_999), at: 0))
        #expect(!pace.isDue(extent(100_000, 1_000_000, 10), at: 0))
    }

    @Test func `after a look in vain it rests, whatever the clock does`() {
        var pace = CompactionPace()
        let due = extent(5_000, 0, 5_000)
        pace.rest(at: 1_000_000)
        #expect(!pace.isDue(due, at: 1_000_000))
        #expect(!pace.isDue(due, at: 1_000_000 + CompactionPace.restMilliseconds - 1))
        #expect(pace.isDue(due, at: 1_000_000 + CompactionPace.restMilliseconds))
        // A clock that was put back does not make it rest for longer.
        #expect(pace.isDue(due, at: 0))
        pace.rest(at: .max)
        #expect(pace.isDue(due, at: 0))
    }

    @Test func `a policy says from when operations may go`() {
        #expect(RetentionPolicy.keepAll.cutoff(at: 5) == nil)
        #expect(RetentionPolicy.keepUnsyncedOnly.cutoff(at: 5) == .max)
        #expect(RetentionPolicy.keepUnsynced(days: 2).cutoff(at: 200_000_000) == 27_200_000)
        #expect(RetentionPolicy.keepUnsynced(days: 0).violation == nil)
        #expect(RetentionPolicy.keepUnsynced(days: 36_500).violation == nil)
        #expect(RetentionPolicy.keepUnsynced(days: -1).violation != nil)
        #expect(RetentionPolicy.keepUnsynced(days: 36_501).violation != nil)
    }
}
