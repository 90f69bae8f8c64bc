import RawConnection
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("Where a request comes from", .budgeted)
struct TrustedProxyTests {
    private static let networks: [(network: String, inside: [String], outside: [String])] = [
        ("127.0.0.1", ["127.0.0.1", "::ffff:127.0.0.1"], ["127.0.0.2", "::1"]),
        ("10.0.0.0/8", ["10.0.0.0", "10.255.1.2"], ["11.0.0.0", "a00::"]),
        ("192.168.6.0/23", ["192.168.7.255"], ["192.168.8.0", "192.168.5.255"]),
        ("0.0.0.0/0", ["8.8.8.8"], ["::1"]),
        ("fd00::/8", ["fd12::1", "fd00::1%eth0"], ["fe80::1", "253.0.0.1"]),
        ("::1", ["0:0:0:0:0:0:0:1"], ["::2", "127.0.0.1"]),
    ]

    @Test("a network has the addresses that begin with its bits", arguments: networks)
    func members(_ text: String, inside: [String], outside: [String]) throws {
        let network = try #require(Network(text))
        for address in inside { #expect(network.contains(try #require(NetworkAddress(address)))) }
        for address in outside {
            #expect(try !network.contains(#require(NetworkAddress(address))))
        }
    }

    @Test(
        "what is no network is refused",
        arguments: [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+1", "::/129",
            "10.0.0.0/8/8", "10.0.0", "proxy.example.com", "10.0.0.1:80", " 10.0.0.1",
        ])
    func noNetwork(_ text: String) {
        #expect(Network(text) == nil)
        #expect(throws: HubError.self) { try TrustedProxies(["::1", text]) }
    }

    private static let routes: [(peer: String, forwarded: [String], client: String)] = [
        // Nobody's word counts but a proxy's.
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        // The client wrote the first; the proxy that was asked added whom it saw.
        ("127.0.0.1", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["1.1.1.1", "198.51.100.1"], "198.51.100.1"),
        // Two proxies in a row.
        ("127.0.0.1", ["1.1.1.1,198.51.100.1 ,\t10.1.2.3"], "198.51.100.1"),
        ("127.0.0.1", ["10.1.2.4, 10.1.2.3"], "10.1.2.4"),
        // Ports, and version 6.
        ("127.0.0.1", ["198.51.100.1:5000"], "198.51.100.1"),
        ("127.0.0.1", ["[2001:db8::1]:5000"], "2001:db8::1"),
        ("::ffff:127.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        // What can't be read ends the way; what is before it may be made up.
        ("127.0.0.1", ["198.51.100.1, unknown"], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1, unknown, 10.0.0.1"], "10.0.0.1"),
        ("127.0.0.1", [""], "127.0.0.1"),
    ]

    @Test("a client is the last on the way that is no proxy", arguments: routes)
    func client(_ peer: String, forwarded: [String], client: String) throws {
        let proxies = try TrustedProxies(["127.0.0.1", "10.0.0.0/8"])
        let headers = forwarded.map { HubRequest.Header("X-Forwarded-For", $0) }
        #expect(proxies.client(peer: peer, headers: headers) == client)
        #expect(try TrustedProxies([]).client(peer: peer, headers: headers) == peer)
    }

    @Test("who fails to sign in too often waits, and others behind the same proxy do not")
    func throttling() async throws {
        // The last two are of one network of version 6.
        let clients = ["192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]
        #expect(
            try await Self.statuses(clients, proxies: ["127.0.0.1"])
                == ["401", "429", "401", "401", "429"])
        #expect(
            try await Self.statuses(clients, proxies: []) == ["401", "429", "429", "429", "429"])
    }

    /// How sign-ins of clients that don't succeed are answered, where one may fail.
    private static func statuses(
        _ clients: [String], proxies: [String]
    ) async throws -> [Substring] {
        var limits = HubLimits()
        limits.failedSignInsPerMinute = 1
        let fixture = try await HubFixture(limits: limits)
        var configuration = HubServer.Configuration()
        configuration.trustedProxies = proxies
        let server = try HubServer(fixture.hub, configuration: configuration)
        let path = "/database/1/\(HubFixture.container)/development/private/zones/list"
        var statuses: [Substring] = []
        for client in clients {
            let request =
                "POST \(path)?ckAPIToken=wrong HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                + "Content-Length: 0\r\nX-Forwarded-For: \(client)\r\n\r\n"
            let reply = try await RawConnection.exchange(server, Array(request.utf8))
            statuses.append(reply.split(separator: " ")[1])
        }
        await server.stop()
        return statuses
    }
}
