import TestBudget
import Testing

@testable import Threading

/// What holds in a group of commits, and that each way of breaking it is seen.
@Suite(.budgeted) struct GroupCommitTests {
    @Test func `marks that contradict each other are seen`() {
        #expect(GroupCommitMarks().violation == nil)
        #expect(GroupCommitMarks(isScheduled: true, isAlone: true, commits: 1).violation == nil)
        #expect(GroupCommitMarks(isAlone: true).violation?.contains("alone") == true)
        #expect(GroupCommitMarks(isScheduled: true, commits: 2).violation?.contains("2") == true)
        #expect(GroupCommitMarks(commits: -1).violation?.contains("-1") == true)
    }
}
