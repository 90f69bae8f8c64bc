import CloudKitWire
import Foundation
import RawConnection
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("The server of a hub", .budgeted)
struct HubServerTests {
    private static let host = "Host: a\r\nConnection: close\r\n"

    /// Requests, and the status that each is answered with.
    private static let cases: [(request: String, status: Int)] = [
        ("GET /healthz HTTP/1.1\r\n\(host)\r\n", 200),
        ("GET /healthz HTTP/1.1\r\nHost: b\r\n\(host)\r\n", 400),
        ("GET /healthz HTTP/1.1\r\n\r\n", 400),
        (
            "POST /x HTTP/1.1\r\n\(host)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "0\r\n\r\n", 400
        ),
        ("POST /x HTTP/1.1\r\n\(host)Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
        ("POST /x HTTP/1.1\r\n\(host)Content-Length: +5\r\n\r\nhello", 400),
        ("POST /x HTTP/1.1\r\n\(host)Content-Length: -5\r\n\r\nhello", 400),
        ("POST /x HTTP/1.1\r\n\(host)Content-Length: 17000000\r\n\r\nhello", 413),
        ("POST /x HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("POST /x HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nZZ\r\nx\r\n0\r\n\r\n", 400),
        ("POST /x HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 404),
        ("GET /healthz HTTP/1.1\r\n\(host)X y: 1\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nHost : a\r\nConnection: close\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\n\(host)X: a\u{1}b\r\n\r\n", 400),
        ("GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\n\(host)\r\n", 414),
        (
            "GET / HTTP/1.1\r\n\(host)\(String(repeating: "X: 1\r\n", count: 150))\r\n", 431
        ),
        ("GET / HTTP/1.1\r\n\(host)X: \(String(repeating: "a", count: 70_000))\r\n\r\n", 431),
        ("GET http://a/healthz HTTP/1.1\r\n\(host)\r\n", 400),
        ("GET /healthz HTTP/2.0\r\n\(host)\r\n", 505),
        ("G@T /healthz HTTP/1.1\r\n\(host)\r\n", 400),
    ]

    @Test("requests that are wrong, or may be understood in two ways, are refused")
    func strictness() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        for (request, status) in Self.cases {
            let reply = try await RawConnection.exchange(server, Array(request.utf8))
            #expect(reply.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(200))")
            let answer = try #require(RawConnection.replies(in: Array(reply.utf8)).first)
            let description = try APIDescription.hub.get()
            guard status != 200 else { continue }
            let problems = description.problems(
                failure: answer.status, answer.headers, answer.body)
            #expect(problems == [], "\(request.prefix(200))")
        }
        await server.stop()
    }

    @Test("a server over a storage that is far away waits for it, head and body")
    func farStorage() async throws {
        let storage = MemoryHubStorage(isFar: true)
        let fixture = try await HubFixture(storage: storage)
        let server = try HubServer(fixture.hub)
        func post(_ endpoint: Endpoint, _ body: String, token: String? = nil) async throws -> String
        {
            var target = fixture.target(endpoint, as: fixture.ada)
            if let token { target = target.replacing(fixture.apiToken, with: token) }
            let head =
                "POST \(target) HTTP/1.1\r\n\(Self.host)Content-Length: \(body.utf8.count)\r\n\r\n"
            return try await RawConnection.exchange(server, Array((head + body).utf8))
        }
        let save =
            #"{"operations":[{"operationType":"create","record":\#(MeteredHub.record("a"))}]}"#
        #expect(try await post(.modifyRecords, save).hasPrefix("HTTP/1.1 200 "))
        let found = try await post(.lookupRecords, #"{"records":[{"recordName":"a"}]}"#)
        #expect(found.contains(#""recordName":"a""#))
        // Its body is too large to be taken from somebody who is not known.
        let padding = String(repeating: " ", count: 100_000)
        #expect(try await post(.modifyRecords, save + padding).hasPrefix("HTTP/1.1 200 "))
        let refused = try await post(.modifyRecords, save + padding, token: "none")
        #expect(refused.contains("AUTHENTICATION_FAILED"))
        #expect(
            try await post(.modifyRecords, save, token: "none").contains("AUTHENTICATION_FAILED"))
        await server.stop()
    }

    @Test("a client that goes away in the middle of a body does no harm")
    func brokenBodies() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let place = WireAssetPlace(recordName: "a", fieldName: "f")
        let uploads: UploadTokensResponse = try await fixture.call(
            .uploadAssets, UploadRequest(places: [place]))
        let upload = try #require(uploads.tokens.first).url.dropFirst(server.address.count)
        for path in ["/x", String(upload)] {
            let request = "POST \(path) HTTP/1.1\r\n\(Self.host)Content-Length: 50\r\n\r\nhello"
            #expect(
                try await RawConnection.exchange(server, Array(request.utf8), goesAway: true)
                    .isEmpty)
        }
        let unasked = "POST /upload/1/00 HTTP/1.1\r\n\(Self.host)Content-Length: 5\r\n\r\nhello"
        let refused = try await RawConnection.exchange(server, Array(unasked.utf8))
        #expect(refused.hasPrefix("HTTP/1.1 404 ") && refused.contains("NOT_FOUND"))
        let healthy = "GET /healthz HTTP/1.1\r\n\(Self.host)\r\n"
        #expect(
            try await RawConnection.exchange(server, Array(healthy.utf8)).hasSuffix("\r\n\r\nok\n"))
        await server.stop()
        let left = try FileManager.default.contentsOfDirectory(
            atPath: fixture.folder.path + "/incoming")
        #expect(left.isEmpty)
    }

    @Test("several requests on one connection are answered in turn")
    func keepAlive() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let body = String(decoding: EmptyResponse().body(), as: UTF8.self)
        let call =
            "POST \(fixture.target(.listZones, as: fixture.ada)) HTTP/1.1\r\nHost: a\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let last = "GET /healthz HTTP/1.1\r\n\(Self.host)\r\n"
        let reply = try await RawConnection.exchange(server, Array((call + call + last).utf8))
        #expect(reply.split(separator: "HTTP/1.1 200 OK").count == 3)
        #expect(reply.contains("_defaultZone"))
        await server.stop()
    }

    @Test("stopping answers the long polls that wait")
    func stopping() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let token: PushTokenResponse = try await fixture.call(
            .createToken, PushTokenRequest(apnsEnvironment: "development"))
        let path = token.webcourierURL.dropFirst(server.address.count)
        async let polled = RawConnection.exchange(
            server, Array("GET \(path) HTTP/1.1\r\n\(Self.host)\r\n".utf8))
        try await fixture.waitForListeners()
        await server.stop()
        #expect(try await polled.hasPrefix("HTTP/1.1 200 "))
    }

    @Test("a hub is served to other machines with a certificate only, unless told otherwise")
    func plainHTTP() async throws {
        let fixture = try await HubFixture()
        var configuration = HubServer.Configuration()
        configuration.host = "0.0.0.0"
        #expect(throws: HubError.self) {
            try HubServer(fixture.hub, configuration: configuration)
        }
        configuration.certificatePEM = "none"
        #expect(throws: HubError.self) {
            try HubServer(fixture.hub, configuration: configuration)
        }
        configuration.keyPEM = "none"
        #expect(throws: HubError.self) {
            try HubServer(fixture.hub, configuration: configuration)
        }
    }
}
