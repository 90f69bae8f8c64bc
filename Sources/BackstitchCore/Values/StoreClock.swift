public import Foundation

/// The time and chance that stores and sync engines use, so that tests can give their own.
///
/// `SystemClock` is the system's, and the default. A store calls its clock inside of writes, from one
/// thread at a time; an engine calls its own from any task.
public protocol StoreClock: Sendable {
    /// The time, of which whole milliseconds count.
    var now: Date { get }
    /// Waits; throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
    /// A number from 0 up to 1, to spread the attempts of many devices.
    func random() -> Double
}

extension StoreClock {
    /// The time in whole milliseconds since 1970; 0 if the clock shows none.
    package var milliseconds: Int64 { now.wholeMilliseconds ?? 0 }
}
