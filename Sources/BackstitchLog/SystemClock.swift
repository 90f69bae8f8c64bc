public import BackstitchCore
public import Foundation

/// The clock and random source of the system.
public struct SystemClock: StoreClock {
    /// The system's clock.
    public init() {}

    /// The wall clock.
    public var now: Date { Date(milliseconds: LiveValues.milliseconds()) }

    /// Suspends the task.
    public func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: max(.zero, duration))
    }

    /// The system's random source.
    public func random() -> Double { LiveValues.random() }
}
