package import BackstitchHubCore
import Threading

/// Serves a program's own page over HTTP, with the engine and the limits of a hub's server.
package final class LocalServer: Sendable {
    /// The most bytes of a request's body.
    package static let bodyBytesMax = 64 << 10
    /// The most connections: one person's browser has a few.
    private static let connectionsMax = 64
    /// How long answers that were begun may take when the server stops, in seconds.
    private static let stopSeconds = 4

    private let server: MicroHTTPDServer

    /// Where it listens.
    package enum Place: Sendable {
        /// A name or address, and a port; 0 for one that is free.
        case host(String, port: UInt16)
        /// A path of the file system. Only the user of this process may connect, and who forwards it.
        case path(String)
    }

    /// The port that it listens at; 0 at a path.
    package var port: UInt16 { server.port }

    /// Whether only programs of this machine reach a host.
    package static func isLoopback(_ host: String) -> Bool { ListenSocket.isLoopback(host) }

    /// Begins to serve.
    ///
    /// - Parameters:
    ///   - refuse: Refuses a request by its head, before its body is read; nil to take it.
    ///   - respond: Answers a request.
    ///   - willStop: Called when the server ends: what waits has to be answered soon.
    /// - Throws: `HubError` if it can't listen.
    package init(
        at place: Place,
        refuse: @escaping @Sendable (HubRequest) -> HubResponse?,
        respond: @escaping @Sendable (HubRequest) async -> HubResponse,
        willStop: @escaping @Sendable () -> Void
    ) throws {
        var limits = HTTPLimits()
        limits.connections = Self.connectionsMax
        limits.stopSeconds = Self.stopSeconds
        let admission: @Sendable (HubRequest) -> Admissions.Admission = { head in
            refuse(head).map { .refuse($0) } ?? .take(.memory(bytesMax: Self.bodyBytesMax))
        }
        server = try MicroHTTPDServer(
            try place.listen(), tls: nil, limits: limits,
            handler: HTTPHandler(
                admit: { head, _ in admission(head) },
                admitLater: { head, _ in admission(head) }, abandon: { _ in },
                makeWork: { _ in RequestWork() }, answerAtOnce: { _ in nil },
                submit: { _, _, answer in answer(nil) },
                respond: { request, _ in await respond(request) },
                noteRefusal: { _, _ in }, noteAnswer: { _, _, _ in },
                countsConnections: { _ in true }, tick: {}, willStop: willStop,
                refuseWork: {}))
    }

    /// Takes no more connections, answers the current requests, and ends.
    package func stop() async { await server.stop() }
}

extension LocalServer.Place {
    fileprivate func listen() throws(HubError) -> ListenSocket {
        switch self {
        case .host(let host, let port): try ListenSocket(host: host, port: port)
        case .path(let path): try ListenSocket(path: path)
        }
    }
}
