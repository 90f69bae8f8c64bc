/// An HTTP engine that listens and hands requests over. The hub knows engines by this alone.
protocol HTTPServer: Sendable {
    /// The port that it listens at.
    var port: UInt16 { get }
    /// Takes no more connections, answers what is under way, and ends.
    func stop() async
}

/// What an engine hands its requests to.
struct HTTPHandler: Sendable {
    /// Where the body of a request goes.
    enum BodyPlace: Sendable {
        /// Into memory, up to a number of bytes.
        case memory(bytesMax: Int)
        /// Into a new file, up to a number of bytes.
        case file(path: String, bytesMax: Int)
    }

    /// Decides by the target of a request.
    var place: @Sendable (_ target: String) -> BodyPlace
    /// Answers a request.
    var respond: @Sendable (HubRequest) async -> HubResponse
    /// Called several times a second.
    var tick: @Sendable () -> Void
    /// Called when the engine ends: what waits has to be answered soon.
    var willStop: @Sendable () -> Void
}

/// What an engine takes from its clients.
public struct HTTPLimits: Hashable, Sendable {
    /// The most connections.
    public var connections = 4_096
    /// The most connections of one address; those of a proxy come from one.
    public var connectionsPerAddress = 4_096
    /// The memory for the head of a request, in bytes. A larger one is refused.
    public var headBytes = 32 << 10
    /// The most bytes of the address in a request.
    public var targetBytes = 8 << 10
    /// The most headers.
    public var headers = 100
    /// How long a connection may send and read nothing, in seconds.
    public var idleSeconds = 60
    /// How long the head of a request may take, from the end of the one before, in seconds.
    public var headSeconds = 75
    /// How long a body may take, in seconds.
    public var bodySeconds = 120
    /// How long the body of an upload, or the reading of a reply, may take, in seconds.
    public var transferSeconds = 600
    /// How long replies that were begun may take when the server is stopped, in seconds.
    public var stopSeconds = 20
    /// The threads that read and write.
    public var threads = 2

    /// The defaults.
    public init() {}
}
