/// How long a failed exchange waits before the next attempt.
package struct Backoff: Equatable, Sendable {
    /// The first wait, in milliseconds.
    package static let firstMilliseconds: Int64 = 1_000
    /// The longest wait that is not the service's own wish, in milliseconds.
    package static let longestMilliseconds: Int64 = 300_000
    /// The longest wait that a service can ask for, in milliseconds.
    package static let askedMillisecondsMax: Int64 = 86_400_000

    /// The failures in a row.
    package private(set) var failures = 0

    /// - Parameter failures: The failures in a row before.
    package init(failures: Int = 0) { self.failures = max(0, failures) }

    /// Notes an exchange that succeeded.
    package mutating func succeeded() { failures = 0 }

    /// Notes a failure and returns the milliseconds to wait: what the service asked for, else twice
    /// as long as the last time, up to a bound, and a random half of it more or less.
    ///
    /// - Parameter random: from 0 up to 1.
    package mutating func failed(_ error: ServiceError, random: Double) -> Int64 {
        if failures < Int.max { failures += 1 }
        if let asked = Self.askedMilliseconds(error) { return asked }
        let full = Self.milliseconds(afterFailures: failures)
        return full / 2 + Int64(Double(full / 2) * random)
    }

    /// The longest wait after failures in a row, in milliseconds.
    package static func milliseconds(afterFailures failures: Int) -> Int64 {
        min(firstMilliseconds << Int64(min(max(0, failures - 1), 20)), longestMilliseconds)
    }

    /// The milliseconds that the service asked to wait for, within a bound; nil if it did not.
    package static func askedMilliseconds(_ error: ServiceError) -> Int64? {
        guard let asked = error.retryAfter?.wholeMilliseconds, asked > 0 else { return nil }
        return min(asked, askedMillisecondsMax)
    }
}
