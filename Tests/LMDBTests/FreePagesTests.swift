import TestBudget
import Testing

@testable import LMDB

@Suite(.budgeted) struct FreePagesTests {
    private func pages(_ numbers: [Int], of count: Int = 1_000) -> FreePages {
        var pages = FreePages(pageCount: count)
        for number in numbers { pages.insert(number) }
        return pages
    }

    @Test func `runs are found across words, and the lowest pages are spared`() {
        let pages = pages([2, 3] + Array(60..<200) + [300, 302, 303, 304])
        #expect(pages.count == 146)
        #expect(pages.runs(sparing: 0, minimum: 1) == [2..<4, 60..<200, 300..<301, 302..<305])
        #expect(pages.runs(sparing: 0, minimum: 3) == [60..<200, 302..<305])
        #expect(pages.runs(sparing: 1, minimum: 1).first == 3..<4)
        #expect(pages.runs(sparing: 70, minimum: 1).first == 128..<200)
        #expect(pages.runs(sparing: 146, minimum: 1) == [])
    }

    @Test func `a run may end with the last page`() {
        #expect(pages(Array(120..<128), of: 128).runs(sparing: 0, minimum: 8) == [120..<128])
        #expect(pages([0, 129], of: 130).runs(sparing: 0, minimum: 1) == [0..<1, 129..<130])
    }

    @Test func `pages that don't exist, or are named twice, don't count`() {
        let pages = pages([-1, 5, 5, 128, .max], of: 128)
        #expect(pages.count == 1)
        #expect(pages.runs(sparing: 0, minimum: 1) == [5..<6])
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `runs are what looking at each page gives`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...600, using: &generator)
        let share = Double.random(in: 0...1, using: &generator)
        let free = (0..<count).filter { _ in Double.random(in: 0..<1, using: &generator) < share }
        let reserve = Int.random(in: 0...20, using: &generator)
        let minimum = Int.random(in: 1...8, using: &generator)
        var expected: [Range<Int>] = []
        for page in free.dropFirst(reserve) {
            if let last = expected.last, last.upperBound == page {
                expected[expected.count - 1] = last.lowerBound..<(page + 1)
            } else {
                expected.append(page..<(page + 1))
            }
        }
        expected.removeAll { $0.count < minimum }
        let runs = pages(free, of: count).runs(sparing: reserve, minimum: minimum)
        #expect(runs == expected, "seed \(seed)")
    }
}
