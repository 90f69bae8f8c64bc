import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct ReleasePaceTests {
    private func due(_ pace: inout ReleasePace, within commits: Int) -> ReleasePace.Step {
        for _ in 0..<commits {
            let step = pace.next()
            if step != .nothing { return step }
        }
        return .nothing
    }

    private func releasing() -> ReleasePace {
        var pace = ReleasePace()
        pace.found(freeBytes: 8 << 20, allocatedBytes: 16 << 20)
        return pace
    }

    @Test func `it looks once in so many commits`() {
        var pace = ReleasePace()
        #expect(due(&pace, within: ReleasePace.commitsPerLook - 1) == .nothing)
        #expect(pace.next() == .look)
        #expect(due(&pace, within: ReleasePace.commitsPerLook - 1) == .nothing)
        #expect(pace.next() == .look)
    }

    @Test(arguments: [
        (ReleasePace.freeBytesMin - 1, ReleasePace.freeBytesMin, false),
        (ReleasePace.freeBytesMin, ReleasePace.freeBytesMin * 4, false),
        (ReleasePace.freeBytesMin + 1, ReleasePace.freeBytesMin * 4, true),
        (1 << 30, 4 << 30, false), (2 << 30, 4 << 30, true),
    ])
    func `little that is free, or a small part, stays`(free: Int, allocated: Int, isDue: Bool) {
        var pace = ReleasePace()
        pace.found(freeBytes: free, allocatedBytes: allocated)
        let expected: ReleasePace.Step = isDue ? .release(below: nil) : .nothing
        #expect(due(&pace, within: ReleasePace.commitsPerStep) == expected)
    }

    @Test func `steps follow each other at their pace, and then it rests`() {
        var pace = releasing()
        #expect(due(&pace, within: ReleasePace.commitsPerStep - 1) == .nothing)
        #expect(pace.next() == .release(below: nil))
        pace.released(next: 700, isSupported: true)
        #expect(due(&pace, within: ReleasePace.commitsPerStep) == .release(below: 700))
        pace.released(next: nil, isSupported: true)
        #expect(due(&pace, within: ReleasePace.commitsPerLook - 1) == .nothing)
        #expect(pace.next() == .look)
    }

    @Test func `it stops where the file system can't`() {
        var pace = releasing()
        pace.released(next: nil, isSupported: false)
        #expect(due(&pace, within: 10 * ReleasePace.commitsPerLook) == .nothing)
    }
}
