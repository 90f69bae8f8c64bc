import LMDB

/// Makes those wait who try credentials.
final class SignInGate: Sendable {
    /// The most addresses that are remembered; then all are forgotten.
    private static let addressesMax = 10_000
    private static let windowMilliseconds: Int64 = 60_000

    private struct Failures {
        var since: Int64
        var count: Int
    }

    private let failures = Locked<[String: Failures]>([:])

    /// Whether an address has failed too often in this minute.
    func isClosed(to address: String, now: Int64, max: Int) -> Bool {
        failures.withLock { failures in
            guard let entry = failures[address] else { return false }
            return now < entry.since + Self.windowMilliseconds && entry.count >= max
        }
    }

    /// Notes a failure.
    func noteFailure(of address: String, now: Int64) {
        failures.withLock { failures in
            if failures.count >= Self.addressesMax { failures = [:] }
            var entry = failures[address] ?? Failures(since: now, count: 0)
            if now >= entry.since + Self.windowMilliseconds {
                entry = Failures(since: now, count: 0)
            }
            entry.count += 1
            failures[address] = entry
        }
    }
}
