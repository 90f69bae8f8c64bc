import TestBudget
import Testing

@testable import BackstitchHubPostgreSQL

@Suite("What became of a commit whose answer was lost", .budgeted) struct CommitLookupTests {
    private static let full = (1...Int64(HubSchema.marksMax)).map { $0 * 100 }

    @Test func `it was made if its mark is among the last ones`() {
        #expect(CommitLookup.outcome(of: 300, 5, lastNumber: 9, marks: Self.full) == .made)
        #expect(CommitLookup.outcome(of: 300, nil, lastNumber: 9, marks: Self.full) == .made)
    }

    @Test func `it was not made if its mark would have to be there`() {
        #expect(CommitLookup.outcome(of: 7, 1, lastNumber: 0, marks: []) == .notMade)
        #expect(CommitLookup.outcome(of: 7, 3, lastNumber: 3, marks: [1, 2, 3]) == .notMade)
        // The marks are those of the commits 5 to 20.
        for number in [Int64(5), 20, 21] {
            let outcome = CommitLookup.outcome(of: 7, number, lastNumber: 20, marks: Self.full)
            #expect(outcome == .notMade)
        }
    }

    @Test func `nobody knows if so many came after it that its mark would be gone`() {
        #expect(CommitLookup.outcome(of: 7, 4, lastNumber: 20, marks: Self.full) == .unknown)
        #expect(CommitLookup.outcome(of: 7, nil, lastNumber: 20, marks: Self.full) == .unknown)
    }
}
