public import BackstitchHubCore
import Foundation
import Glibc
import WireCrypto

extension HubClock {
    /// A clock with the system's steady clock.
    public init(
        milliseconds: @escaping @Sendable () -> Int64,
        secret: @escaping @Sendable (_ count: Int) -> [UInt8]
    ) {
        self.init(
            milliseconds: milliseconds, secret: secret,
            steadyMilliseconds: Self.systemSteadyMilliseconds)
    }

    /// The system's steady clock.
    public static let systemSteadyMilliseconds: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The system's clock and its generator for secrets.
    public static let system = HubClock(
        milliseconds: { Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)) },
        secret: { SecretBytes.random($0) })
}

extension HubConfiguration {
    /// The defaults, with the system's clock.
    public init() { self.init(clock: .system) }
}
