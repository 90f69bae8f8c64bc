import CloudKitWire
public import Foundation

/// The time and chance that a hub uses, so that tests can give their own.
public struct HubClock: Sendable {
    /// Milliseconds since 1970.
    public var milliseconds: @Sendable () -> Int64
    /// Returns bytes that can't be guessed.
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

    /// The number of a new run; see ``HubWriting/run``.
    package func newRun() -> UInt64 {
        let number = secret(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return max(1, number)
    }
}

/// How a hub works.
public struct HubConfiguration: Sendable {
    /// The limits of requests and records.
    public var limits = HubLimits()
    /// The time and chance that it uses.
    public var clock: HubClock
    /// The address that clients reach the hub at, for the addresses in its replies: scheme, host and
    /// port. Without one, the server's own address is used.
    public var publicURL: URL?
    /// The header in which a trusted proxy names the user whom it has signed in, by the name that the
    /// operator knows the user by; nil if no proxy does. From elsewhere it is ignored.
    public var signInHeader: String?
    /// Whether the hub tells a client that it does not have the client's container. If not, it answers as to
    /// wrong credentials. Then strangers can't find out the names of containers.
    package var namesUnknownContainers = false
    /// Receives a line of JSON for each failure of the hub itself, without credentials and data.
    public var log: @Sendable (_ line: String) -> Void = { _ in }

    /// The defaults, with a clock.
    public init(clock: HubClock) { self.clock = clock }
}

extension HubClock {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// A random name, as a UUID of version 4 (RFC 9562, section 5.4).
    func uuid() -> String {
        var bytes = secret(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(Self.digits[Int(byte >> 4)])
            text.append(Self.digits[Int(byte & 0xF)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension HubConfiguration {
    /// The time in milliseconds since 1970.
    var now: Int64 { clock.milliseconds() }

    /// Milliseconds of a clock that is never set, for how long something takes.
    var steadyNow: Int64 { clock.steadyMilliseconds() }

    /// ``publicURL`` as text, without a slash at the end.
    var publicAddress: String? {
        publicURL.map { url in
            let text = url.absoluteString
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        }
    }

    /// Writes a line about a failure of the hub itself.
    func log(failure error: any Error, call: String) {
        var json = JSONWriter()
        json.object { json in
            json.member("time", integer: now)
            json.member("level", "error")
            json.member("call", call)
            json.member("message", "\(error)")
        }
        log(String(decoding: json.bytes, as: UTF8.self))
    }
}
