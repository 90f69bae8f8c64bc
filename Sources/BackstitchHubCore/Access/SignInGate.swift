import Threading

/// Makes those wait who try credentials: those of this process (``SignInGate``), or of several hubs.
package protocol SignInLimiting: Sendable {
    /// Whether an address has failed too often in this minute.
    func isClosed(to address: String, now: Int64, max: Int) -> Bool

    /// Notes a failure.
    func noteFailure(of address: String, now: Int64)
}

/// Makes those wait who try credentials.
///
/// Addresses of IP version 6 count by their network, since one client may have all of it. What is no
/// address counts as one.
final class SignInGate: SignInLimiting {
    /// The most addresses that are remembered; then all are forgotten.
    private static let addressesMax = 10_000
    private static let windowMilliseconds: Int64 = 60_000

    private struct Failures {
        var since: Int64
        var count: Int
    }

    private let failures = Locked<[NetworkAddress?: Failures]>([:])

    /// Whether an address has failed too often in this minute.
    package func isClosed(to address: String, now: Int64, max: Int) -> Bool {
        let group = NetworkAddress(address)?.group
        return failures.withLock { failures in
            guard let entry = failures[group] else { return false }
            return now < entry.since + Self.windowMilliseconds && entry.count >= max
        }
    }

    /// Notes a failure.
    package func noteFailure(of address: String, now: Int64) {
        let group = NetworkAddress(address)?.group
        failures.withLock { failures in
            if failures.count >= Self.addressesMax { failures = [:] }
            var entry = failures[group] ?? Failures(since: now, count: 0)
            if now >= entry.since + Self.windowMilliseconds {
                entry = Failures(since: now, count: 0)
            }
            entry.count += 1
            failures[group] = entry
        }
    }
}
