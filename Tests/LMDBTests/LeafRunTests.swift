import TestBudget
import Testing

@testable import LMDB

@Suite(.budgeted) struct LeafRunTests {
    private func leaf(_ number: Int, _ nodes: [Int], hasOverflow: Bool = false) -> LeafRun.Leaf {
        let overflow = hasOverflow ? [LeafRun.Overflow(key: [0], firstPage: 9)] : []
        return LeafRun.Leaf(firstKey: [UInt8(number)], nodes: nodes, overflow: overflow)
    }

    private func run(_ leaves: [LeafRun.Leaf]) -> LeafRun {
        leaves.reduce(into: LeafRun(pageBytes: 4_096)) { $0.add($1) }
    }

    @Test func `half-empty pages are worth it, full ones are not`() {
        let half = run((0..<6).map { leaf($0, Array(repeating: 400, count: 5)) })
        #expect(half.pagesNeeded == 4)
        #expect(half.isSparse)
        #expect(half.firstKey == [1])
        #expect(half.entries == 25)
        let full = run((0..<6).map { leaf($0, Array(repeating: 400, count: 10)) })
        #expect(!full.isSparse)
        let filled = run((0..<20).map { leaf($0, Array(repeating: 400, count: 8)) })
        #expect(!filled.isSparse)
    }

    @Test func `one page, or none, stays`() {
        #expect(!run([]).isSparse)
        #expect(run([]).firstKey == nil)
        #expect(!run([leaf(0, [40])]).isSparse)
        #expect(!run([leaf(0, [40]), leaf(1, [40])]).isSparse)
        #expect(run([leaf(0, [40]), leaf(1, [40]), leaf(2, [40])]).isSparse)
    }

    @Test func `a page with values that have their own divides a run`() {
        let leaves = [
            leaf(0, [40]), leaf(1, [40]), leaf(2, [40], hasOverflow: true), leaf(3, [40]),
            leaf(4, []), leaf(5, [40]),
        ]
        let runs = LeafRun.runs(of: leaves, pageBytes: 4_096)
        #expect(runs.map { $0.leaves.map(\.firstKey) } == [[[0], [1]], [[3]], [[5]]])
    }
}
