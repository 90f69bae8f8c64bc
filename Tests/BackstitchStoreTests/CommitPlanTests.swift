import Backstitch
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

/// Writes that share a commit and fail: how often the others run, and what becomes of them.
@Suite(.budgeted) struct CommitPlanTests {
    /// What came of a group of writes.
    private struct Outcome {
        var runs = 0
        var commits = 0
        var committed: [Int] = []
        var finished: [Int] = []
    }

    private static func play(_ count: Int, failing: (Int) -> Bool) -> Outcome {
        var plan = CommitPlan(count: count)
        var failed: Set<Int> = []
        var outcome = Outcome()
        attempts: while let part = plan.next {
            if plan.runsAny {
                for index in part where !failed.contains(index) {
                    outcome.runs += 1
                    guard failing(index) else { continue }
                    failed.insert(index)
                    plan.failed(at: index)
                    continue attempts
                }
                outcome.commits += 1
                outcome.committed += part.filter { !failed.contains($0) }
            }
            outcome.finished += part
            plan.ended()
        }
        return outcome
    }

    @Test func `writes that succeed run once, in one commit`() {
        let outcome = Self.play(256) { _ in false }
        #expect(outcome.runs == 256)
        #expect(outcome.commits == 1)
        #expect(Self.play(0) { _ in false }.finished == [])
    }

    @Test(arguments: [0, 1, 100, 255])
    func `one that fails has the others run again, in one commit`(failing: Int) {
        let outcome = Self.play(256) { $0 == failing }
        #expect(outcome.runs == 256 + failing)
        #expect(outcome.commits == 1)
        #expect(outcome.committed == (0..<256).filter { $0 != failing })
    }

    @Test(arguments: [1, 2, 3, 5, 17, 100])
    func `a burst of failures costs a few runs a write, and fewer commits than writes`(every: Int) {
        for count in [1, 2, 3, 16, 255, 256, 2_048] {
            let outcome = Self.play(count) { $0 % every == every - 1 }
            #expect(outcome.runs <= 5 * count, "\(count)")
            #expect(outcome.commits <= 1 + count / 8, "\(count)")
            #expect(outcome.finished == Array(0..<count))
            #expect(outcome.committed == (0..<count).filter { $0 % every != every - 1 })
        }
    }

    @Test func `whichever fail, each write has one result, and in order`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let count = Int.random(in: 1...300, using: &generator)
            let share = Double.random(in: 0...1, using: &generator)
            let failing = Set(
                (0..<count).filter { _ in Double.random(in: 0..<1, using: &generator) < share })
            let outcome = Self.play(count) { failing.contains($0) }
            #expect(outcome.finished == Array(0..<count))
            #expect(outcome.committed == (0..<count).filter { !failing.contains($0) })
            #expect(outcome.runs <= 5 * count)
        }
    }

    @Test func `writes that fail in a run of their own are noted there`() {
        var plan = CommitPlan(count: 40)
        plan.failed(at: 39)
        plan.failed(at: 38)
        plan.failed(at: 37)
        #expect(plan.next == 0..<37)
        plan.failed(at: 10)
        #expect(plan.next == 0..<10)
        plan.ended()
        #expect(plan.next == 10..<40)
    }

    @Test func `one by one after a lack of space`() {
        var plan = CommitPlan(count: 3)
        plan.separate()
        #expect(plan.next == 0..<1)
        plan.ended()
        #expect(plan.next == 1..<2)
        plan.ended()
        plan.ended()
        #expect(plan.next == nil)
    }

    private struct Refused: Error {}

    @Test func `a burst of writes of which half fail runs each a few times`() async throws {
        let store = try Store.inMemory(schema: .all)
        defer { store.close() }
        let (runs, refused) = (Locked(0), Locked(0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1_024 {
                group.addTask {
                    do {
                        try await store.write { transaction in
                            runs.withLock { $0 += 1 }
                            try transaction.save(Node(id: .init("n\(number)")))
                            if number.isMultiple(of: 2) { throw Refused() }
                        }
                    } catch {
                        refused.withLock { $0 += error is Refused ? 1 : 0 }
                    }
                }
            }
        }
        #expect(refused.withLock { $0 } == 512)
        #expect(try store.read { try $0.count(Node.self) } == 512)
        #expect(runs.withLock { $0 } <= 5 * 1_024)
        try await store.expectConsistent()
    }
}
