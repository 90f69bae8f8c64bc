public import BackstitchCore
public import Foundation

extension ManualClock: StoreClock {
    /// The time.
    public var now: Date { Date(milliseconds: milliseconds) }

    /// Returns once the clock has been advanced by a duration; at once for zero or less.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before.
    public func sleep(for duration: Duration) async throws {
        try await sleep(milliseconds: duration.wholeMilliseconds)
    }

    /// Always a half, so that waits are the same in every run.
    public func random() -> Double { 0.5 }
}
