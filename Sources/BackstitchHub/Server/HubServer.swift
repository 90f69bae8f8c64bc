public import BackstitchHubCore

/// Brings a hub onto the network, over HTTP or HTTPS.
public final class HubServer: Sendable {
    /// How a server works.
    public struct Configuration: Sendable {
        /// The name or address to listen at. Others than those of this machine's own loopback need a
        /// certificate, or ``allowsPlainHTTP``.
        public var host = "127.0.0.1"
        /// The port; 0 for one that is free.
        public var port: UInt16 = 0
        /// The certificate chain in PEM; nil for HTTP without encryption.
        public var certificatePEM: String?
        /// The certificate's key in PEM.
        public var keyPEM: String?
        /// Whether others of this machine may be served without encryption, as behind a proxy.
        public var allowsPlainHTTP = false
        /// The addresses of proxies, or networks such as `10.0.0.0/8`, whose `X-Forwarded-For` is
        /// believed. Whoever fails to sign in too often is told to wait by address, and behind a proxy
        /// that is not named here all clients share one.
        public var trustedProxies: [String] = []
        /// What is taken from clients.
        public var limits = HTTPLimits()

        /// The defaults: loopback, any port.
        public init() {}
    }

    private let server: any HTTPServer
    /// The address that the server listens at.
    public let url: String

    /// Begins to serve.
    ///
    /// - Throws: A failure whose message says what to do.
    public init(_ hub: Hub, configuration: Configuration = Configuration()) throws {
        let tls = try Self.tls(configuration)
        guard
            tls != nil || configuration.allowsPlainHTTP
                || ListenSocket.isLoopback(configuration.host)
        else {
            throw HubFailure(
                "'\(configuration.host)' is reached from other machines. Give a certificate, or allow "
                    + "plain HTTP where a proxy is in front.")
        }
        try hub.beginServing()
        server = try MicroHTTPDServer(
            host: configuration.host, port: configuration.port, tls: tls,
            limits: configuration.limits,
            handler: Self.handler(
                hub, TrustedProxies(configuration.trustedProxies),
                requestsMax: configuration.limits.requestsPerAddress))
        let isVersion6 = configuration.host.contains(":")
        let host = isVersion6 ? "[\(configuration.host)]" : configuration.host
        url = "\(tls == nil ? "http" : "https")://\(host):\(server.port)"
        hub.setServerURL(url)
    }

    /// Takes no more connections, answers what is under way, and ends. The hub stays open.
    public func stop() async { await server.stop() }

    private static func tls(
        _ configuration: Configuration
    ) throws(HubFailure) -> MicroHTTPDServer.TLS? {
        switch (configuration.certificatePEM, configuration.keyPEM) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            return MicroHTTPDServer.TLS(certificate: certificate, key: key)
        default: throw HubFailure("Certificate and key belong together. Give both.")
        }
    }

    private static func handler(
        _ hub: Hub, _ proxies: TrustedProxies, requestsMax: Int
    ) -> HTTPHandler {
        let admission = AddressGate(hub: hub, requestsMax: requestsMax)
        return HTTPHandler(
            admit: { head, length in
                hub.admissionAtOnce(of: proxies.behind(head), length: length)
            },
            admitLater: { head, length in
                await hub.admission(of: proxies.behind(head), length: length)
            },
            abandon: { hub.abandon($0) },
            makeWork: { hub.makeWork(for: $0) },
            submit: { request, work, answer in
                admission.submit(request, work, answer)
            },
            respond: { request, work in await admission.respond(to: request, work) },
            noteRefusal: { hub.countRefusal(status: $0) },
            countsConnections: { !proxies.isTrusted($0) },
            tick: { hub.tick() },
            willStop: { hub.releaseWaiters() },
            refuseWork: { hub.refuseWork() })
    }
}

/// Counts the requests under way of each address.
private struct AddressGate: Sendable {
    let hub: Hub
    let requestsMax: Int

    func submit(
        _ request: HubRequest, _ work: RequestWork,
        _ answer: @escaping @Sendable (HubResponse?) -> Void
    ) {
        guard enter(request) else {
            hub.abandon(request)
            return answer(hub.tooManyRequests(request))
        }
        hub.submitReading(request, work) { response in
            // Where there is none yet, the request goes on, and leaves with its answer.
            if response != nil { leave(request) }
            answer(response)
        }
    }

    func respond(to request: HubRequest, _ work: RequestWork) async -> HubResponse {
        let response = await hub.respond(to: request, work)
        leave(request)
        return response
    }

    /// Long polls wait for others, and take a connection and no more.
    private func isCounted(_ request: HubRequest) -> Bool {
        !request.target.hasPrefix("/courier/")
    }

    private func enter(_ request: HubRequest) -> Bool {
        !isCounted(request) || hub.gate.enter(request.addressName, max: requestsMax)
    }

    private func leave(_ request: HubRequest) {
        if isCounted(request) { hub.gate.leave(request.addressName) }
    }
}
