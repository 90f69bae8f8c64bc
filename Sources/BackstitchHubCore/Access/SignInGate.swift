import Threading

/// Makes those wait who try credentials: those of this process (``SignInGate``), or of several hubs.
package protocol SignInLimiting: Sendable {
    /// Whether an address has failed too often in this minute.
    func isClosed(to address: String, now: Int64, max: Int) -> Bool

    /// Notes a failure.
    func noteFailure(of address: String, now: Int64)

    /// Whether an address may try once more in this minute. The try counts as a failure until
    /// ``returnTry(of:takenAt:)``, so that of many at once no more pass than may fail.
    func takeTry(of address: String, now: Int64, max: Int) -> Bool

    /// Takes back a try that did not fail.
    func returnTry(of address: String, takenAt time: Int64)

    /// Whether another password may be tried for a user in this hour, from any address. The try counts as
    /// one that failed until ``forgetTries(forUser:)`` or ``returnTry(forUser:takenAt:)``.
    func takeTry(forUser name: String, now: Int64, max: Int) -> Bool

    /// Takes back a try of a password that was not compared.
    func returnTry(forUser name: String, takenAt time: Int64)

    /// Notes that a password was right.
    func forgetTries(forUser name: String)
}

/// Makes those wait who try credentials.
///
/// Addresses of IP version 6 count by their network, since one client may have all of it. What is no
/// address counts as one.
final class SignInGate: SignInLimiting {
    private let addresses = Locked(FailureCounts<NetworkAddress?>(windowMilliseconds: 60_000))
    private let users = Locked(FailureCounts<String>(windowMilliseconds: 3_600_000))

    package func isClosed(to address: String, now: Int64, max: Int) -> Bool {
        let group = NetworkAddress(address)?.group
        return addresses.withLock { $0.count(of: group, now: now) >= max }
    }

    package func noteFailure(of address: String, now: Int64) {
        let group = NetworkAddress(address)?.group
        addresses.withLock { $0.note(group, now: now) }
    }

    package func takeTry(of address: String, now: Int64, max: Int) -> Bool {
        let group = NetworkAddress(address)?.group
        return addresses.withLock { $0.take(group, now: now, max: max) }
    }

    package func returnTry(of address: String, takenAt time: Int64) {
        let group = NetworkAddress(address)?.group
        addresses.withLock { $0.takeBack(group, notedAt: time) }
    }

    package func takeTry(forUser name: String, now: Int64, max: Int) -> Bool {
        users.withLock { $0.take(name, now: now, max: max) }
    }

    package func returnTry(forUser name: String, takenAt time: Int64) {
        users.withLock { $0.takeBack(name, notedAt: time) }
    }

    package func forgetTries(forUser name: String) { users.withLock { $0.forget(name) } }
}
