/// What an operation's clock is: 48 bits of milliseconds since 1970 and 16 bits of counter.
///
/// It ascends from one operation to the next, even if the wall clock was put back a little. It
/// never is more than a minute ahead of the wall clock at the time of the save: a wall clock that was
/// once far ahead must not date, and decide about, everything that is saved after it was put right.
package enum LogicalClock {
    /// The most that an operation's clock is ahead of the wall clock.
    package static let driftMillisecondsMax: Int64 = 60_000
    /// The latest time that fits the 48 bits, some 8,900 years away.
    package static let millisecondsMax: Int64 = 1 << 48 - 1
    /// The beginning of 2020. A wall clock that shows an earlier time was not set since the machine
    /// started, and says nothing about how far the last operation is ahead.
    package static let plausibleMilliseconds: Int64 = 1_577_836_800_000

    /// The clock of the operation that follows one with a clock; 0 if none went before.
    package static func next(after last: UInt64, wallMilliseconds: Int64) -> UInt64 {
        let wall = min(max(0, wallMilliseconds), millisecondsMax)
        let next = max(last < .max ? last + 1 : last, UInt64(wall) << 16)
        let latest = min(wall + driftMillisecondsMax, millisecondsMax)
        guard wall >= plausibleMilliseconds, milliseconds(of: next) > latest else { return next }
        return UInt64(latest) << 16
    }

    /// The milliseconds since 1970 that a clock shows.
    package static func milliseconds(of clock: UInt64) -> Int64 { Int64(clock >> 16) }
}
