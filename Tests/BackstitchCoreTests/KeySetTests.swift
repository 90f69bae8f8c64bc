import TestBudget
import Testing

@testable import BackstitchCore

/// What holds in a set of keys, and that each way of breaking it is seen.
@Suite(.budgeted) struct KeySetTests {
    private func isWhole(_ keys: [[UInt8]]) -> Bool { KeySet(ordered: keys).violation == nil }

    @Test func `keys in their order are a set`() {
        #expect(isWhole([]))
        #expect(isWhole([[1]]))
        #expect(isWhole([[1], [1, 0], [2], [2, 1], [255]]))
    }

    @Test func `keys that are there twice or out of order are seen`() {
        #expect(!isWhole([[1], [1]]))
        #expect(!isWhole([[2], [1]]))
        #expect(!isWhole([[1, 0], [1]]))
        #expect(!isWhole([[1], [3], [2], [4]]))
    }
}
