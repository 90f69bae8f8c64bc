/// The time and chance that a hub uses, so that tests can give their own.
public struct HubClock: Sendable {
    /// Milliseconds since 1970.
    public var milliseconds: @Sendable () -> Int64
    /// Bytes that nobody can guess.
    public var secret: @Sendable (_ count: Int) -> [UInt8]
    /// Milliseconds of a clock that is never set, for how long something takes.
    public var steadyMilliseconds: @Sendable () -> Int64

    /// A clock by its parts.
    public init(
        milliseconds: @escaping @Sendable () -> Int64,
        secret: @escaping @Sendable (_ count: Int) -> [UInt8],
        steadyMilliseconds: @escaping @Sendable () -> Int64
    ) {
        self.milliseconds = milliseconds
        self.secret = secret
        self.steadyMilliseconds = steadyMilliseconds
    }
}

/// How a hub works.
public struct HubConfiguration: Sendable {
    /// What requests and records may be like.
    public var limits = HubLimits()
    /// The time and chance that it uses.
    public var clock: HubClock
    /// The address that clients reach the hub at, for the addresses in its replies: scheme, host and
    /// port, without a slash at the end. Without one, the server's own address is used.
    public var publicURL: String?
    /// Takes a line of JSON for each failure of the hub itself. It holds no credentials and no data.
    public var log: @Sendable (_ line: String) -> Void = { _ in }

    /// The defaults, with a clock.
    public init(clock: HubClock) { self.clock = clock }
}
