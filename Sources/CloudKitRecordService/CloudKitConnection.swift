import BackstitchCore
import CloudKitWire
import Foundation
import Threading
import WireCrypto

/// Sends the calls of one client, with its credentials.
final class CloudKitConnection: Sendable {
    /// How often a request with a name is sent in all if no reply arrives.
    private static let attemptsMax = 3

    let configuration: CloudKitConfiguration
    let client: any HTTPClient
    private let key: SigningKey?
    private let state = Locked(State())

    private struct State {
        /// What the service does beyond CloudKit, as its last reply says.
        var extensions: Set<WireExtension> = []
        var courier: PushTokenResponse?
        /// The bytes of files that were sent, also in requests that failed.
        var sentFileBytes: Int64 = 0
    }

    init(_ configuration: CloudKitConfiguration, client: any HTTPClient) throws(ServiceError) {
        if let violation = configuration.violation {
            throw ServiceError(.invalidRequest, violation)
        }
        guard configuration.allowsPlainHTTP || Self.isConfidential(configuration.base) else {
            throw ServiceError(
                .invalidRequest,
                "'\(configuration.base)' would get the tokens without encryption; use https, "
                    + "or allow plain HTTP")
        }
        self.configuration = configuration
        self.client = client
        guard case .serverKey(_, let pem) = configuration.credentials else {
            key = nil
            return
        }
        do throws(KeyError) {
            key = try SigningKey(pem: pem)
        } catch {
            throw ServiceError(.notAuthenticated, error.message)
        }
    }

    /// Whether no one on the way can read what is sent to an address: by encryption, or because there is no
    /// way.
    static func isConfidential(_ url: String) -> Bool {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased() else {
            return false
        }
        guard scheme == "http" else { return scheme == "https" }
        let host = (parts.host ?? "").trimmingCharacters(in: ["[", "]"])
        if host == "localhost" || host == "::1" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { UInt8($0) != nil }
    }

    /// What the service does beyond CloudKit, as far as is known.
    var extensions: Set<WireExtension> { state.withLock { $0.extensions } }

    /// The courier token of this client, so that it is not told of what it did itself.
    private var pushToken: String? { courier?.apnsToken }

    /// The token and the address by which this client hears of changes. It is kept over failures, so
    /// that a client that comes and goes stays one device.
    var courier: PushTokenResponse? {
        get { state.withLock { $0.courier } }
        set { state.withLock { $0.courier = newValue } }
    }

    /// The most arrays and objects inside one another in a reply. A value stands deeper in the reply of a feed
    /// than in the request that saved it, so that a reply may be deeper than any request.
    private static let depthMax = JSONParser.depthMax + 8

    /// Calls an endpoint and reads the reply.
    ///
    /// - Parameters:
    ///   - requestID: The name of the request. A service that knows it answers a request that comes again
    ///     with its first answer, so that it may be sent again.
    ///   - token: The change token that the request has.
    func call<Reply: WireReply>(
        _ endpoint: Endpoint, _ database: WireDatabase?, _ request: some WireRequest,
        requestID: String? = nil, since token: String? = nil
    ) async throws(ServiceError) -> Reply {
        let reply = try await reply(endpoint, database, request, requestID, token)
        do throws(WireFormatError) {
            return try Reply(body: reply.body, depthMax: Self.depthMax)
        } catch {
            // An error with the status of success.
            if (try? WireError(body: reply.body)) != nil { throw failure(reply, since: token) }
            // A reply that was cut off: what the service did is not known.
            throw ServiceError(
                .network, ServiceError.words("the reply can't be read: \(error.message)"))
        }
    }

    /// Calls an endpoint whose reply says nothing: with Apple it may even be no JSON.
    func tell(
        _ endpoint: Endpoint, _ database: WireDatabase?, _ request: some WireRequest
    ) async throws(ServiceError) {
        _ = try await reply(endpoint, database, request, nil, nil)
    }

    private func reply(
        _ endpoint: Endpoint, _ database: WireDatabase?, _ request: some WireRequest,
        _ requestID: String?, _ token: String?
    ) async throws(ServiceError) -> HTTPReply {
        let path = WirePath(
            container: configuration.container, environment: configuration.environment,
            database: database, endpoint: endpoint)
        let body = request.body()
        let reply = try await exchange(path, body, requestID)
        noteHeaders(of: reply)
        guard reply.status == 200 else {
            throw failure(reply, since: token, requestBytes: body.count)
        }
        return reply
    }

    /// Sends a request, again if that does no harm and no reply arrived.
    private func exchange(
        _ path: WirePath, _ body: [UInt8], _ requestID: String?
    ) async throws(ServiceError) -> HTTPReply {
        let canRepeat = requestID != nil && extensions.contains(.requestID)
        var attempts = canRepeat ? Self.attemptsMax : 1
        while true {
            attempts -= 1
            do throws(HTTPFailure) {
                return try await client.send(
                    httpRequest(path, body: body, requestID: requestID))
            } catch {
                guard attempts > 0, !Task.isCancelled else {
                    throw ServiceError(.network, error.message)
                }
            }
        }
    }

    /// Waits for the next notification; its body is empty if none came in time.
    func poll(_ url: String) async throws(ServiceError) -> HTTPReply {
        guard configuration.allowsPlainHTTP || Self.isConfidential(url) else {
            throw ServiceError(
                .permissionDenied,
                "the service tells of changes without encryption, at '"
                    + "\(url.prefix { $0 != "?" }.split(separator: "/").prefix(2).joined(separator: "//"))'"
            )
        }
        let request = HTTPRequest(
            method: "GET", url: url, timeoutMilliseconds: 120_000, isLongPoll: true)
        let reply: HTTPReply
        do throws(HTTPFailure) {
            reply = try await client.send(request)
        } catch {
            throw ServiceError(.network, error.message)
        }
        guard reply.status == 200 else { throw failure(reply) }
        return reply
    }

    /// Sends a request about a file to an address that the service gave, without credentials: whoever
    /// has the address may.
    func transfer(_ request: HTTPRequest) async throws(ServiceError) -> HTTPReply {
        guard configuration.allowsPlainHTTP || Self.isConfidential(request.url) else {
            throw ServiceError(
                .permissionDenied,
                "the service has files sent without encryption; let it give addresses with https")
        }
        var request = request
        request.timeoutMilliseconds = Int(configuration.timeout.wholeMilliseconds)
        do throws(HTTPFailure) {
            let reply = try await client.send(request)
            state.withLock { $0.sentFileBytes += reply.sentBytes }
            return reply
        } catch {
            state.withLock { $0.sentFileBytes += error.sentBytes }
            throw ServiceError(.network, error.message)
        }
    }

    /// The bytes of files that were sent so far.
    var sentFileBytes: Int64 { state.withLock { $0.sentFileBytes } }

    // MARK: Requests

    private func httpRequest(
        _ path: WirePath, body: [UInt8], requestID: String?
    ) throws(HTTPFailure) -> HTTPRequest {
        var request = HTTPRequest(
            method: "POST", url: configuration.base + path.text,
            timeoutMilliseconds: Int(configuration.timeout.wholeMilliseconds))
        request.body = body
        request.headers = [
            ("Content-Type", "application/json"),
            (WireHeader.extensions, WireExtension.header(WireExtension.allCases)),
        ]
        if let requestID { request.headers.append((WireHeader.requestID, requestID)) }
        if let text = configuration.traceParent?(), TraceParent(text) != nil {
            request.headers.append((TraceParent.header, text))
        }
        if let pushToken { request.headers.append((WireHeader.pushToken, pushToken)) }
        switch configuration.credentials {
        case .apiToken(let token):
            request.url += "?ckAPIToken=" + Self.escape(token)
        case .user(let token, let webToken):
            request.url += "?ckAPIToken=" + Self.escape(token)
            request.url += "&ckWebAuthToken=" + Self.escape(webToken.value)
        case .serverKey(let id, _):
            request.headers += try signature(path.text, body: body, keyID: id)
        }
        return request
    }

    private func signature(
        _ path: String, body: [UInt8], keyID: String
    ) throws(HTTPFailure) -> [(name: String, value: String)] {
        guard let key else { return [] }
        let date = Date().formatted(.iso8601)
        let message = RequestSignature.message(date: date, body: body, path: path)
        do throws(KeyError) {
            let signature = Data(try key.sign(message)).base64EncodedString()
            return [
                (WireHeader.keyID, keyID), (WireHeader.signedDate, date),
                (WireHeader.signature, signature),
            ]
        } catch {
            throw HTTPFailure(message: error.message)
        }
    }

    /// Escapes all that is not unreserved (RFC 3986, section 2.3).
    private static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += "%" + [byte].hexadecimal.uppercased()
            }
        }
        return escaped
    }

    // MARK: Replies

    private func noteHeaders(of reply: HTTPReply) {
        let extensions = WireExtension.parse(reply.headers[WireHeader.extensions.lowercased()])
        state.withLock { $0.extensions = extensions }
        guard case .user(_, let webToken) = configuration.credentials else { return }
        let token =
            reply.headers[WireHeader.webAuthToken.lowercased()]
            ?? reply.headers[WireHeader.session.lowercased()]
        if let token, !token.isEmpty { webToken.replace(with: token) }
    }

    /// The failure that a reply tells.
    ///
    /// A reply without the protocol's error object may be a proxy's. Then it says nothing of the request,
    /// of its records or of its token, and the request is to be made again later.
    ///
    /// - Parameters:
    ///   - token: The change token that the request had.
    ///   - requestBytes: The size of the request's body.
    func failure(
        _ reply: HTTPReply, since token: String? = nil, requestBytes: Int? = nil
    ) -> ServiceError {
        let retryAfter = reply.headers["retry-after"].flatMap { Double($0) }
        guard let error = try? WireError(body: reply.body) else {
            let answer = ForeignAnswer(status: reply.status, requestBytes: requestBytes)
            var failure = ServiceError(
                ServiceError.code(status: reply.status) ?? .serviceUnavailable, answer.message,
                retryAfterSeconds: retryAfter)
            failure.cause = answer
            return failure
        }
        var failure = ServiceError(error, status: reply.status, since: token)
        failure.retryAfterSeconds = failure.retryAfterSeconds ?? retryAfter
        return failure
    }
}
