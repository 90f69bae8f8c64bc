import Foundation

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
        server = try MicroHTTPDServer(
            host: configuration.host, port: configuration.port, tls: tls,
            limits: configuration.limits,
            handler: Self.handler(hub, TrustedProxies(configuration.trustedProxies)))
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

    private static func handler(_ hub: Hub, _ proxies: TrustedProxies) -> HTTPHandler {
        let limits = hub.configuration.limits
        return HTTPHandler(
            place: { target in
                guard target.hasPrefix("/upload/") else {
                    return .memory(bytesMax: limits.bodyBytes)
                }
                guard hub.expectsUpload(target) else { return .memory(bytesMax: 0) }
                let path = hub.assets.incomingPath(hub.configuration.clock.secret(16))
                return .file(path: path, bytesMax: limits.assetBytes)
            },
            respond: { request in
                var request = request
                request.remoteAddress = proxies.client(
                    peer: request.remoteAddress, headers: request.headers)
                return await hub.respond(to: request)
            },
            tick: { hub.tick() },
            willStop: { hub.couriers.releaseAll() })
    }
}
