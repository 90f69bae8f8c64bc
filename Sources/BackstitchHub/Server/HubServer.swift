public import BackstitchHubCore
import CloudKitWire
public import Foundation
import Glibc

/// Brings a hub onto the network, over HTTP or HTTPS.
public final class HubServer: Sendable {
    /// How a server works.
    public struct Configuration: Sendable {
        /// The name or address to listen at. Addresses other than loopback need a certificate, or
        /// ``allowsPlainHTTP``.
        public var host = "127.0.0.1"
        /// The port; 0 for one that is free.
        public var port: UInt16 = 0
        /// The certificate chain in PEM; nil for HTTP without encryption.
        public var certificatePEM: String?
        /// The certificate's key in PEM.
        public var keyPEM: String?
        /// Whether to serve addresses other than loopback without encryption, for example to a
        /// proxy.
        public var allowsPlainHTTP = false
        /// The addresses of proxies, or networks such as `10.0.0.0/8`, whose `X-Forwarded-For` is
        /// believed. Clients that fail to sign in too often have to wait, by address; clients of a
        /// proxy that is not named here all share its address.
        public var trustedProxies: [String] = []
        /// The bounds of what is taken from clients.
        public var limits = HTTPLimits()
        /// The name or address of a second socket, without encryption, for `/healthz`, `/ready` and
        /// `/metrics`. If there is one, the first one has only `/healthz` of these.
        public var metricsHost: String?
        /// The port of the second socket; 0 for one that is free.
        public var metricsPort: UInt16 = 0
        /// The folder of the hub, for the figures of its disk; nil if it has none.
        public var folder: URL?
        /// Receives a line of JSON for each request, without credentials and data.
        public var accessLog: (@Sendable (_ line: String) -> Void)?
        /// Receives a line of JSON for each failed sign-in and each denied request.
        public var auditLog: (@Sendable (_ line: String) -> Void)?
        /// How often the server looks for connections that take too long or whose clients have gone.
        package var lookMilliseconds = MicroHTTPDServer.lookMilliseconds

        /// The defaults: loopback, any port.
        public init() {}

        /// The address that a server would listen at.
        public var url: URL {
            Self.url(certificatePEM == nil ? "http" : "https", host, port)
        }

        /// The address of the metrics, if they have a socket of their own.
        public var metricsURL: URL? {
            metricsHost.map { Self.url("http", $0, metricsPort).appending(path: "metrics") }
        }

        private static func url(_ scheme: String, _ host: String, _ port: UInt16) -> URL {
            var parts = URLComponents()
            parts.scheme = scheme
            parts.host = host.contains(":") ? "[\(host)]" : host
            parts.port = Int(port)
            return parts.url ?? URL(filePath: "/")
        }
    }

    /// Which pages a socket has.
    private enum Audience {
        case everybody
        case clients
        case operators

        func mayAsk(for request: HubRequest) -> Bool {
            switch self {
            case .everybody: true
            case .clients: !request.isForOperators || request.callName == "healthz"
            case .operators: request.isForOperators
            }
        }
    }

    private let hub: Hub
    private let server: any HTTPServer
    /// The connections of clients.
    let connections: ConnectionTable
    private let operators: (any HTTPServer)?
    /// The address that the server listens at.
    public let url: URL
    /// The address of the metrics, if they have a socket of their own.
    public let metricsURL: URL?

    /// Begins to serve.
    ///
    /// - Throws: A failure whose message says what to do.
    public init(_ hub: Hub, configuration: Configuration = Configuration()) throws {
        let (tls, proxies) = try Self.checked(configuration)
        try hub.beginServing()
        self.hub = hub
        let observer = Observer(hub, configuration)
        func handler(for audience: Audience) -> HTTPHandler {
            Self.handler(
                hub, proxies, observer, audience,
                requestsMax: configuration.limits.requestsPerAddress)
        }
        let host = configuration.metricsHost
        let server = try MicroHTTPDServer(
            host: configuration.host, port: configuration.port, tls: tls,
            limits: configuration.limits,
            handler: handler(for: host == nil ? .everybody : .clients),
            lookMilliseconds: configuration.lookMilliseconds)
        self.server = server
        connections = server.connections
        var configuration = configuration
        configuration.port = server.port
        if let host {
            var limits = configuration.limits
            limits.connections = min(limits.connections, Self.operatorConnections)
            let operators = try MicroHTTPDServer(
                host: host, port: configuration.metricsPort, tls: nil, limits: limits,
                handler: handler(for: .operators))
            configuration.metricsPort = operators.port
            self.operators = operators
        } else {
            operators = nil
        }
        url = configuration.url
        metricsURL = configuration.metricsURL
        hub.setServerURL(url.absoluteString)
        let startMilliseconds = hub.configuration.clock.milliseconds()
        hub.setServerMetrics(
            MetricSource {
                [connections = server.connections, folder = configuration.folder?.path] in
                observer.metrics.families + connections.families
                    + (folder.map { FolderFigures.families(of: $0) } ?? [])
                    + ProcessFigures.families(startMilliseconds: startMilliseconds)
            })
    }

    private static let operatorConnections = 64

    /// Checks a configuration without listening.
    ///
    /// - Throws: The failure that a server with this configuration would throw. It does not check
    ///   whether the address is free.
    public static func check(_ configuration: Configuration) throws {
        if let tls = try checked(configuration).tls { try MicroHTTPDServer.check(tls) }
    }

    /// Checks an address or a network of ``Configuration/trustedProxies``.
    package static func check(proxy text: String) throws(HubError) {
        _ = try TrustedProxies([text])
    }

    private static func checked(
        _ configuration: Configuration
    ) throws(HubError) -> (tls: MicroHTTPDServer.TLS?, proxies: TrustedProxies) {
        let tls = try tls(configuration)
        guard
            tls != nil || configuration.allowsPlainHTTP
                || ListenSocket.isLoopback(configuration.host)
        else {
            throw HubError(
                .invalid,
                "'\(configuration.host)' is reached from other machines. Give a certificate, or allow "
                    + "plain HTTP where a proxy is in front.")
        }
        return (tls, try TrustedProxies(configuration.trustedProxies))
    }

    /// Stops taking connections, answers the current requests, and ends. The hub stays open.
    public func stop() async {
        await server.stop()
        await operators?.stop()
    }

    /// Uses another certificate for new connections; open ones keep theirs.
    ///
    /// - Throws: A failure if the certificate and its key can't be used, or if the server has no
    ///   encryption. Then all stays as it was.
    public func replaceCertificate(pem: String, keyPEM: String) throws {
        try server.replace(MicroHTTPDServer.TLS(certificate: pem, key: keyPEM))
    }

    /// Whether the server still accepts connections and reads requests, and its hub can still answer them.
    ///
    /// It makes a connection like a client's, and answers it itself. It is false of a hub over a folder
    /// after a write failed so that it is unknown whether the disk has it: end the server, close the hub,
    /// and open the folder again.
    ///
    /// - Parameter milliseconds: How long it may take.
    public func isResponsive(within milliseconds: Int) async -> Bool {
        guard !hasFailed else { return false }
        return await server.isResponsive(within: milliseconds)
    }

    /// Whether the hub can do nothing more until its data is opened anew.
    package var hasFailed: Bool { hub.storage.hasFailed }

    /// The number of connections.
    public var connectionCount: Int { server.connectionCount }

    private static func tls(
        _ configuration: Configuration
    ) throws(HubError) -> MicroHTTPDServer.TLS? {
        switch (configuration.certificatePEM, configuration.keyPEM) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            return MicroHTTPDServer.TLS(certificate: certificate, key: key)
        default: throw HubError(.invalid, "Certificate and key belong together. Give both.")
        }
    }

    private static func handler(
        _ hub: Hub, _ proxies: TrustedProxies, _ observer: Observer, _ audience: Audience,
        requestsMax: Int
    ) -> HTTPHandler {
        let admission = AddressGate(hub: hub, requestsMax: requestsMax)
        return HTTPHandler(
            admit: { head, length in
                proxies.readClient(of: &head)
                hub.admissions.readAddress(of: &head)
                guard audience.mayAsk(for: head) else { return .refuse(hub.notFound(head)) }
                return hub.admissions.admissionAtOnce(of: &head, length: length)
            },
            admitLater: { head, length in
                await hub.admissions.admission(of: &head, length: length)
            },
            abandon: { hub.admissions.abandon($0) },
            makeWork: { hub.makeWork(for: $0) },
            answerAtOnce: { InlineReads(hub).answer($0) },
            submit: { request, work, answer in
                admission.submit(request, work, answer)
            },
            respond: { request, work in await admission.respond(to: request, work) },
            noteRefusal: { observer.noteRefusal($0, $1) },
            noteAnswer: { observer.noteAnswer($0, $1, $2) },
            countsConnections: { !proxies.isTrusted($0) },
            tick: {
                hub.tick()
                observer.tick()
            },
            willStop: { hub.releaseWaiters() },
            refuseWork: { hub.refuseWork() })
    }
}

/// Counts and writes down what a server answered.
private struct Observer: Sendable {
    let metrics = ServerMetrics()
    private let hub: Hub
    private let accessLog: (@Sendable (String) -> Void)?
    private let auditLog: (@Sendable (String) -> Void)?
    /// Nil of a hub without a folder.
    private let slow: SlowRequests?

    init(_ hub: Hub, _ configuration: HubServer.Configuration) {
        self.hub = hub
        slow = configuration.folder.map { SlowRequests(folder: $0.path) }
        accessLog = configuration.accessLog
        auditLog = configuration.auditLog
    }

    func tick() { slow?.tick(now: hub.configuration.clock.milliseconds()) }

    func noteRefusal(_ status: Int, _ address: String) {
        hub.countRefusal(status: status)
        guard let accessLog else { return }
        accessLog(
            ServedRequest(
                time: hub.configuration.clock.milliseconds(), address: address, call: "refused",
                status: status
            ).accessLine)
    }

    func noteAnswer(_ request: HubRequest, _ response: HubResponse, _ nanoseconds: Int) {
        let call = request.callName
        let (requestBytes, responseBytes) = (request.body.byteCount, response.sentByteCount)
        metrics.note(
            call, nanoseconds: nanoseconds, requestBytes: requestBytes,
            responseBytes: responseBytes)
        guard accessLog != nil || auditLog != nil || slow?.isSlow(nanoseconds) == true else {
            return
        }
        let served = ServedRequest(
            time: hub.configuration.clock.milliseconds(), address: request.remoteAddress,
            method: request.method, call: call, status: response.status,
            nanoseconds: nanoseconds, requestBytes: requestBytes, responseBytes: responseBytes,
            identifier: response.header(ServedRequest.identifierHeader),
            signedIn: response.began ?? request.signedIn, beganSession: response.began != nil,
            trace: request.header(TraceParent.header).flatMap { TraceParent($0) })
        accessLog?(served.accessLine)
        if !request.isLongPoll { slow?.note(served) }
        if let auditLog, let line = served.auditLine { auditLog(line) }
    }
}

extension HubRequest.Body {
    fileprivate var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(_, let byteCount, _): byteCount
        }
    }
}

extension HubResponse {
    /// The bytes of the body; a file has those that it has now.
    fileprivate var sentByteCount: Int {
        switch body {
        case .bytes(let bytes): return bytes.count
        case .filePart(_, _, let byteCount): return byteCount
        case .remote(let file): return file.byteCount
        case .file(let path):
            var status = stat()
            return stat(path, &status) == 0 ? Int(status.st_size) : 0
        }
    }

    fileprivate func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

extension ConnectionTable {
    fileprivate var families: [MetricFamily] {
        [
            MetricFamily(.gauge, "backstitch_hub_connections", "Connections.", count),
            MetricFamily(
                .counter, "backstitch_hub_connections_total", "Connections that there were.",
                startCount),
            MetricFamily(
                .gauge, "backstitch_hub_requests_under_way",
                "Requests that are answered, long polls among them.", answeringCount),
        ]
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
        guard isCounted(request) else { return hub.submit(request, work, answer) }
        guard hub.gate.enter(request.addressName, max: requestsMax) else {
            hub.admissions.abandon(request)
            return answer(hub.tooManyRequests(request))
        }
        hub.submit(request, work) { response in
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

    private func leave(_ request: HubRequest) {
        if isCounted(request) { hub.gate.leave(request.addressName) }
    }
}
