import BackstitchLog
import BackstitchStore

/// The time and chance that a sync engine uses, so that tests can give their own.
public protocol SyncClock: Sendable {
    /// The time in milliseconds since 1970.
    var milliseconds: Int64 { get }
    /// Waits; throws when the task is cancelled.
    func sleep(milliseconds: Int64) async throws
    /// A number from 0 up to 1, to spread the attempts of many devices.
    func random() -> Double
}

/// The clock and random source of the system.
public struct SystemSyncClock: SyncClock {
    /// The system's clock.
    public init() {}

    /// The wall clock.
    public var milliseconds: Int64 { LiveValues.milliseconds() }

    /// Suspends the task.
    public func sleep(milliseconds: Int64) async throws {
        try await Task.sleep(nanoseconds: UInt64(max(0, milliseconds)) * 1_000_000)
    }

    /// The system's random source.
    public func random() -> Double { LiveValues.random() }
}
