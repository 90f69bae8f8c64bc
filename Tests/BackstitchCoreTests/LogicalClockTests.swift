import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct LogicalClockTests {
    private static let now: Int64 = 1_750_000_000_000

    private func next(after milliseconds: Int64, _ wall: Int64) -> UInt64 {
        LogicalClock.next(after: UInt64(milliseconds) << 16, wallMilliseconds: wall)
    }

    @Test func `it follows the wall clock, and counts within a millisecond`() {
        #expect(next(after: 0, Self.now) == UInt64(Self.now) << 16)
        #expect(next(after: Self.now, Self.now) == UInt64(Self.now) << 16 + 1)
        #expect(next(after: Self.now, Self.now + 1) == UInt64(Self.now + 1) << 16)
    }

    @Test(arguments: [Int64(1), 59_999, 60_000])
    func `it ascends where the wall clock was put back a little`(ahead: Int64) {
        #expect(next(after: Self.now + ahead, Self.now) == UInt64(Self.now + ahead) << 16 + 1)
    }

    @Test(arguments: [60_001, 86_400_000, 315_360_000_000, LogicalClock.millisecondsMax - now])
    func `it is at most a minute ahead of the wall clock`(ahead: Int64) {
        let clock = next(after: Self.now + ahead, Self.now)
        #expect(LogicalClock.milliseconds(of: clock) == Self.now + 60_000)
        #expect(LogicalClock.next(after: clock, wallMilliseconds: Self.now) == clock + 1)
        #expect(
            LogicalClock.next(after: clock, wallMilliseconds: Self.now + 60_001)
                == UInt64(Self.now + 60_001) << 16)
    }

    @Test(arguments: [Int64.min, -1, 0, 5_000, LogicalClock.plausibleMilliseconds - 1])
    func `a wall clock that was never set does not put it back`(wall: Int64) {
        #expect(next(after: Self.now, wall) == UInt64(Self.now) << 16 + 1)
    }

    @Test func `its end is no trap`() {
        #expect(LogicalClock.next(after: .max, wallMilliseconds: 0) == .max)
        #expect(LogicalClock.next(after: .max, wallMilliseconds: .max) == .max)
        #expect(
            LogicalClock.next(after: 0, wallMilliseconds: .max)
                == UInt64(LogicalClock.millisecondsMax) << 16)
    }
}
