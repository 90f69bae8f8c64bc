import BackstitchHubCore

/// An HTTP engine that listens and hands requests over. The hub knows engines by this alone.
protocol HTTPServer: Sendable {
    /// The port that it listens at.
    var port: UInt16 { get }
    /// The number of connections.
    var connectionCount: Int { get }
    /// Takes no more connections, answers what is under way, and ends.
    func stop() async
    /// Uses another certificate for new connections; open ones keep theirs.
    func replace(_ tls: MicroHTTPDServer.TLS) throws(HubError)
    /// Whether the server accepts a new connection and reacts to its first bytes within a time.
    func isResponsive(within milliseconds: Int) async -> Bool
}

/// What an engine hands its requests to.
struct HTTPHandler: Sendable {
    /// Decides by the head of a request, and by the length of its body if the head says it, and notes its
    /// findings in the head. Nil if the decision takes a while: then ``admitLater`` has to be called.
    var admit: @Sendable (_ head: inout HubRequest, _ length: Int?) -> Admissions.Admission?
    /// Decides in any case.
    var admitLater:
        @Sendable (_ head: inout HubRequest, _ length: Int?) async -> Admissions.Admission
    /// Ends what was begun for a head whose body did not come.
    var abandon: @Sendable (_ head: HubRequest) -> Void
    /// Notes what a request costs, so that it can be given up.
    var makeWork: @Sendable (HubRequest) -> RequestWork
    /// Answers a request on the calling thread; nil if that takes a while, and ``submit`` has to be asked.
    var answerAtOnce: @Sendable (HubRequest) -> HubResponse?
    /// Answers a request in its turn by a closure; with nil if ``respond`` has to be asked.
    var submit:
        @Sendable (HubRequest, RequestWork, @escaping @Sendable (HubResponse?) -> Void) -> Void
    /// Answers a request.
    var respond: @Sendable (HubRequest, RequestWork) async -> HubResponse
    /// Called for each request that the engine itself answers, with the status and whom it is from.
    var noteRefusal: @Sendable (_ status: Int, _ address: String) -> Void
    /// Called for each other request, with its answer and how long that took, in nanoseconds.
    var noteAnswer: @Sendable (HubRequest, HubResponse, _ nanoseconds: Int) -> Void
    /// Whether connections of an address are counted; those of a proxy are many people's.
    var countsConnections: @Sendable (_ address: String) -> Bool
    /// Called several times a second.
    var tick: @Sendable () -> Void
    /// Called when the engine ends: what waits has to be answered soon.
    var willStop: @Sendable () -> Void
    /// Called when it has not ended in time: nothing new is begun.
    var refuseWork: @Sendable () -> Void
}

/// The bounds of what the HTTP server takes from its clients.
public struct HTTPLimits: Hashable, Sendable {
    /// The most connections. If there are more, the address with the most of them loses those that
    /// wait for nothing, the oldest first.
    public var connections = 4_096
    /// The most connections of one address, of version 6 of one network of 64 bits; those of a trusted
    /// proxy don't count.
    public var connectionsPerAddress = 1_024
    /// The most requests of one address that are under way; long polls don't count.
    public var requestsPerAddress = 256
    /// The most bytes of bodies in memory, all together.
    public var bodiesBytes = 64 << 20
    /// The most of them that are of one address.
    public var bodiesBytesPerAddress = 32 << 20
    /// The most bytes of replies that were not read yet, all together. If there are more, the
    /// address with the most of them loses the oldest.
    public var repliesBytes = 128 << 20
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
    /// How long requests and replies that were begun may take when the server is stopped, in seconds:
    /// half of it each.
    public var stopSeconds = 20
    /// The threads that read and write.
    public var threads = 2
    /// How long a request is answered for a client that has closed its side, in seconds: the server
    /// can't tell whether such a client still waits for the answer.
    public var absenceSeconds = 1

    /// The defaults.
    public init() {}

    /// Connections beyond the limit, which are there for as long as others are being closed for them.
    static let spareConnections = 256
    /// Descriptors for all but connections: storage, queues, and what the runtime opens for itself.
    static let ownDescriptors = 64

    /// The limits, with the most connections that a number of descriptors allows: each connection
    /// may also send or receive a file, and as many again may wait for their head.
    ///
    /// A process without descriptors can't even look at its own threads, and ends.
    public func fitting(descriptors: Int) -> HTTPLimits {
        let room = descriptors - Self.spareConnections - Self.ownDescriptors
        var limits = self
        limits.connections = max(1, min(connections, room / 3))
        return limits
    }
}
