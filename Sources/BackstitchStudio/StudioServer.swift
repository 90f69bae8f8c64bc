package import BackstitchHub
import BackstitchHubCore
import Foundation
import Threading
import WireCrypto

/// Serves Studio's page and its calls to one person on this machine.
package final class StudioServer: Sendable {
    /// What is sent with every answer: nothing from elsewhere is loaded, run, framed or told where the
    /// page is.
    private static let headers = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                + "img-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
    ].map { HubRequest.Header($0.0, $0.1) }
    private static let secretBytes = 32

    private let server: LocalServer
    private let place: LocalServer.Place
    private let token: String

    /// The port that the address has of a server that listens at a path: whoever forwards it to there
    /// may choose another one.
    package static let forwardedPort: UInt16 = 8080

    /// The address to open. It signs in once: the token in it counts until it is used.
    package var url: String {
        let host =
            switch place {
            case .host(let host, _): "\(host.contains(":") ? "[\(host)]" : host):\(server.port)"
            case .path: "localhost:\(Self.forwardedPort)"
            }
        return "http://\(host)/#token=\(token)"
    }

    /// Begins to serve.
    ///
    /// - Parameters:
    ///   - place: A loopback address, or a path.
    ///   - pageFolder: A folder with the files of the page, for work on them.
    /// - Throws: ``StudioError`` for an address that other machines reach; `HubError` if it can't
    ///   listen.
    package init(
        at place: LocalServer.Place, source: any StudioSource, pageFolder: String? = nil
    ) throws {
        if case .host(let host, _) = place, !LocalServer.isLoopback(host) {
            throw StudioError(
                400,
                "'\(host)' is reached from other machines. Listen at 127.0.0.1, and use ssh -L.")
        }
        let token = Self.secret()
        let desk = StudioDesk(
            source: source, page: StudioPage(folder: pageFolder), token: token,
            cookie: Self.secret(), requestSecret: Self.secret())
        let port = Locked<UInt16?>(nil)
        server = try LocalServer(
            at: place,
            refuse: { head in
                guard case .refuse(let status, let why) = desk.verdict(on: head, port) else {
                    return nil
                }
                return Self.complete(.problem(status, why))
            },
            respond: { request in
                return Self.complete(
                    await desk.answer(request, desk.verdict(on: request, port)))
            }, willStop: { source.stop() })
        if case .host = place { port.withLock { [server] in $0 = server.port } }
        (self.place, self.token) = (place, token)
    }

    /// Answers what is under way, and ends.
    package func stop() async { await server.stop() }

    private static func secret() -> String {
        SecretBytes.random(secretBytes).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }
        .joined()
    }

    private static func complete(_ response: HubResponse) -> HubResponse {
        var response = response
        response.headers += headers
        return response
    }
}

/// Answers requests that the gate let in.
private struct StudioDesk: Sendable {
    let source: any StudioSource
    let page: StudioPage
    let cookie: String
    let requestSecret: String
    /// Nil once it was used.
    private let token: Locked<String?>

    init(
        source: any StudioSource, page: StudioPage, token: String, cookie: String,
        requestSecret: String
    ) {
        (self.source, self.page) = (source, page)
        (self.cookie, self.requestSecret) = (cookie, requestSecret)
        self.token = Locked(token)
    }

    func verdict(on head: HubRequest, _ port: borrowing Locked<UInt16?>) -> StudioGate.Verdict {
        StudioGate(port: port.withLock { $0 }, cookie: cookie, requestSecret: requestSecret)
            .verdict(on: head)
    }

    func answer(_ request: HubRequest, _ verdict: StudioGate.Verdict) async -> HubResponse {
        do {
            switch verdict {
            case .refuse(let status, let why): return .problem(status, why)
            case .file(let name):
                guard let file = page.file(name) else {
                    return .problem(404, "There is no such file.")
                }
                return HubResponse(
                    status: 200, headers: [HubRequest.Header("Content-Type", file.type)],
                    body: .bytes(file.bytes))
            case .signIn: return try signIn(request)
            case .session: return try session()
            case .read(let name):
                return .answer(
                    try await source.answer(
                        StudioCall(
                            name: name, parameters: StudioCall.parameters(ofTarget: request.target))
                    ))
            case .act(let name):
                return .answer(
                    try await source.answer(
                        StudioCall(name: name, isAction: true, parameters: try members(of: request))
                    ))
            }
        } catch let error as StudioError {
            return .problem(error.status, error.message)
        } catch {
            return .problem(400, source.message(of: error))
        }
    }

    private func members(of request: HubRequest) throws(StudioError) -> [String: String] {
        guard case .bytes(let bytes) = request.body,
            let members = StudioCall.parameters(ofBody: bytes)
        else { throw StudioError(400, "The body is no JSON object.") }
        return members
    }

    private func signIn(_ request: HubRequest) throws -> HubResponse {
        let given = try members(of: request)["token"] ?? ""
        let counts = token.withLock { token in
            guard let known = token, StudioGate.isEqual(known, given) else { return false }
            token = nil
            return true
        }
        guard counts else {
            throw StudioError(
                401, "This address was used already, or is wrong. Start studio again for a new one."
            )
        }
        var response = try session()
        response.headers.append(
            HubRequest.Header(
                "Set-Cookie",
                "\(StudioGate.cookieName(request))=\(cookie); HttpOnly; SameSite=Strict; Path=/")
        )
        return response
    }

    private func session() throws -> HubResponse {
        var response = HubResponse.json(try source.session())
        response.headers.append(HubRequest.Header(StudioGate.requestHeader, requestSecret))
        return response
    }
}

extension HubResponse {
    fileprivate static func answer(_ answer: StudioAnswer) -> HubResponse {
        switch answer {
        case .json(let text): json(text)
        case .file(let path):
            // Whatever the bytes are, no browser shows or runs them.
            HubResponse(
                status: 200,
                headers: [
                    HubRequest.Header("Content-Type", "application/octet-stream"),
                    HubRequest.Header("Content-Disposition", "attachment"),
                ], body: .file(path: path))
        }
    }

    fileprivate static func json(_ text: String, status: Int = 200) -> HubResponse {
        HubResponse(
            status: status, headers: [HubRequest.Header("Content-Type", "application/json")],
            body: .bytes(Array(text.utf8)))
    }

    fileprivate static func problem(_ status: Int, _ message: String) -> HubResponse {
        let object = try? JSONSerialization.data(
            withJSONObject: ["error": message], options: [.withoutEscapingSlashes])
        return .json(String(decoding: object ?? Data(), as: UTF8.self), status: status)
    }
}
