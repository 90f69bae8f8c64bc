import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Threading
import TestBudget
import Testing

@Suite(.budgeted) struct TimeTests {
    @Test func `those who sleep are woken when their time has come`() async throws {
        let clock = ManualClock(milliseconds: 0)
        let woken = Locked<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for milliseconds in [30, 10, 20] {
                group.addTask {
                    try await clock.sleep(milliseconds: Int64(milliseconds))
                    woken.withLock { $0.append(milliseconds) }
                }
            }
            while clock.sleeperCount < 3 { await Task.yield() }
            for expected in [[10], [10, 20], [10, 20, 30]] {
                #expect(clock.advanceToNextWake())
                while woken.withLock({ $0.count }) < expected.count { await Task.yield() }
                #expect(woken.withLock { $0 } == expected)
            }
            try await group.waitForAll()
        }
        #expect(clock.milliseconds == 30)
        #expect(!clock.advanceToNextWake())
    }

    @Test func `a sleep ends when its task is cancelled`() async {
        let clock = ManualClock()
        let task = Task { try await clock.sleep(milliseconds: 10) }
        while clock.sleeperCount == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `a task that is cancelled already does not sleep`() async {
        let clock = ManualClock()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(milliseconds: 10)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `the same seed gives the same numbers`() {
        var one = SeededGenerator(seed: 7)
        var other = SeededGenerator(seed: 7)
        #expect((0..<100).map { _ in one.next() } == (0..<100).map { _ in other.next() })
        var zero = SeededGenerator(seed: 0)
        #expect(zero.next() == 0xE220_A839_7B1D_CDAF)
        #expect((0..<1_000).allSatisfy { _ in (0..<1).contains(zero.fraction()) })
    }

    @Test func `records have the server clock's time and never an earlier one`() async throws {
        let clock = ManualClock(milliseconds: 5_000)
        let service = SimulatedRecordService(clock: clock)
        let zone = ZoneID("z")
        try await service.createZone(zone)
        let first = try service.cloud.write("a", type: "T", fields: [:], in: zone)
        #expect(first.modifiedMilliseconds == 5_000)
        let second = try service.cloud.write("a", type: "T", fields: [:], in: zone)
        #expect(second.modifiedMilliseconds == 5_001)
        clock.advance(milliseconds: 1_000)
        let third = try service.cloud.write("a", type: "T", fields: [:], in: zone)
        #expect(third.modifiedMilliseconds == 6_000)
    }
}
