import CloudKitWire
import WireCrypto

@testable import BackstitchHubCore

/// Requests that a hub refuses, for each operation of its description.
struct RefusedCalls {
    /// A request with the status that it is refused with.
    struct Call {
        let what: String
        let request: HubRequest
        let status: Int
        /// Whether its body is what the description forbids.
        var hasWrongBody = false
    }

    let fixture: HubFixture
    /// The sign-in page of an API token without web pages, and that of one with some.
    private let pages: (closed: String, open: String)

    init() async throws {
        var limits = HubLimits.patient
        // Most of the requests fail to sign in.
        limits.failedSignInsPerMinute = 1_000_000
        fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        let (hub, token) = (fixture.hub, fixture.apiToken)
        let closed = try await hub.accounts.makeAPIToken(
            HubFixture.container, environment: "development")
        _ = try await hub.signIns.setPages(
            ofToken: HubAccounts.id(ofAPIToken: token), origins: ["https://app.example.com"],
            callback: nil)
        func page(_ token: String) -> String { "/signin/" + Digest.sha256(token).hexadecimal }
        pages = (closed: page(closed), open: page(token))
        hub.readiness.noteFullDisk(now: hub.configuration.steadyNow)
    }

    /// The path of an operation with what the hub has in place of its parameters.
    func path(of operation: APIDescription.Operation) -> String {
        operation.path.replacing("{container}", with: HubFixture.container)
            .replacing("{environment}", with: "development")
            .replacing("{database}", with: "private")
    }

    /// None where the operation refuses nothing.
    func calls(of operation: APIDescription.Operation) -> [Call] {
        if operation.path.contains("{environment}") { return protocolCalls(of: operation) }
        let method = operation.method
        func nothing(at target: String) -> Call {
            Call(
                what: "nothing is there", request: HubRequest(method: method, target: target),
                status: 404)
        }
        switch operation.path {
        case "/ready":
            let request = HubRequest(method: method, target: "/ready")
            return [Call(what: "a full disk", request: request, status: 503)]
        case "/signin/{page}":
            return signInCalls(method)
                + [nothing(at: "/signin/" + String(repeating: "0", count: 64))]
        case "/courier/1/{token}" where method != "OPTIONS": return [nothing(at: "/courier/1/none")]
        case "/upload/1/{token}" where method != "OPTIONS": return [nothing(at: "/upload/1/none")]
        case let path where path.hasPrefix("/asset/") && method != "OPTIONS":
            return [nothing(at: "/asset/1/none/0/00/file")]
        default: return []
        }
    }

    private func signInCalls(_ method: String) -> [Call] {
        func call(_ what: String, _ page: String, _ status: Int, from origin: String) -> Call {
            let headers = [
                HubRequest.Header("Host", "hub.example.com"), HubRequest.Header("Origin", origin),
                HubRequest.Header("Content-Type", "application/x-www-form-urlencoded"),
            ]
            let form = method == "POST" ? Array("by=code&code=AAAAAAAAAAAA".utf8) : []
            let request = HubRequest(method: method, target: page, headers: headers, body: form)
            return Call(what: what, request: request, status: status)
        }
        let own = "https://hub.example.com"
        let calls = [call("no web pages", pages.closed, 403, from: own)]
        guard method == "POST" else { return calls }
        return calls + [
            call("a form of another page", pages.open, 403, from: "https://evil.example"),
            call("a wrong code", pages.open, 401, from: own),
        ]
    }

    private func protocolCalls(of operation: APIDescription.Operation) -> [Call] {
        let path = path(of: operation)
        let credentials = fixture.target(.listZones, as: fixture.ada).drop { $0 != "?" }
        func call(
            _ what: String, _ path: String, _ status: Int, _ query: some StringProtocol,
            _ body: String = "{}"
        ) -> Call {
            let body = operation.method == "POST" ? Array(body.utf8) : []
            let request = HubRequest(method: operation.method, target: path + query, body: body)
            return Call(what: what, request: request, status: status)
        }
        var calls = [
            call(
                "another environment", path.replacing("/development/", with: "/staging/"), 404,
                credentials)
        ]
        let database = path.replacing("/private/", with: "/secret/")
        if database != path { calls.append(call("another database", database, 404, credentials)) }
        guard operation.method != "OPTIONS" else { return calls }
        let (token, container) = (
            "?ckAPIToken=\(fixture.apiToken)",
            path.replacing(HubFixture.container, with: "iCloud.none")
        )
        calls += [
            call("another container", container, 401, credentials),
            call("no API token", path, 401, ""),
            call("another API token", path, 401, "?ckAPIToken=none"),
            call("no such session", path, 401, token + "&ckWebAuthToken=none"),
        ]
        if database != path { calls.append(call("nobody is signed in", path, 421, token)) }
        guard operation.method == "POST" else { return calls }
        let name = String(operation.path.split(separator: "}/").last ?? "")
        let endpoint = HubEndpoint.at(Endpoint(rawValue: name))
        if endpoint?.reply == nil { calls.append(call("no such service", path, 400, credentials)) }
        guard operation.request != nil else { return calls }
        let wrong = ["{", "[]"] + (endpoint?.mayBeEmpty == false ? ["{}"] : [])
        return calls
            + wrong.map { body in
                var refused = call("the body \(body)", path, 400, credentials, body)
                refused.hasWrongBody = true
                return refused
            }
    }
}
