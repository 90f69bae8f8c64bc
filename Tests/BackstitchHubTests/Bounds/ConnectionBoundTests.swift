import CloudKitWire
import Dispatch
import Foundation
import RawConnection
import TestBudget
import Testing
import Waiting

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What one address, or all together, may have of a server: connections, requests, unread replies.
///
/// Clients come from several addresses of the loopback network, all of which are this machine's.
@Suite("Bounds of connections", .budgeted, .serialized)
struct ConnectionBoundTests {
    /// The one who attacks, and somebody else.
    private static let (attacker, other) = ("127.0.0.2", "127.0.0.3")

    /// Runs what waits for a server on a thread of its own, and stops the server.
    private static func run<R: Sendable>(
        _ server: HubServer, _ body: @escaping @Sendable (_ url: String) throws -> R
    ) async throws -> R {
        let url = server.address
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { try body(url) })
            }
        }
        await server.stop()
        return try result.get()
    }

    /// A server whose connections end only by what is tested: on a busy machine minutes may pass
    /// between two requests.
    private static func server(
        _ hub: Hub, looksByItself: Bool = true, _ change: (inout HTTPLimits) -> Void
    ) throws -> HubServer {
        var configuration = HubServer.Configuration()
        if !looksByItself { configuration.lookMilliseconds = 3_600_000 }
        configuration.limits.idleSeconds = 3_600
        configuration.limits.headSeconds = 3_600
        configuration.limits.bodySeconds = 3_600
        change(&configuration.limits)
        return try HubServer(hub, configuration: configuration)
    }

    private static let health = Array("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".utf8)

    private static func post(_ target: String, _ body: String) -> [UInt8] {
        Array(
            "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                .utf8)
    }

    // MARK: Connections

    /// Connections that were served and wait for the next request count like those that sent nothing.
    @Test func `an address has so many connections, whatever they wait for`() async throws {
        let fixture = try await HubFixture()
        let server = try Self.server(fixture.hub) { $0.connectionsPerAddress = 4 }
        let (isExtraClosed, others) = try await Self.run(server) { url in
            let silent = try (0..<2).map { _ in try RawConnection(url: url, from: Self.attacker) }
            let served = try (0..<2).map { _ in try RawConnection(url: url, from: Self.attacker) }
            var statuses: [Int?] = []
            for connection in served {
                connection.send(Self.health)
                statuses.append(connection.reply()?.status)
            }
            let extra = try RawConnection(url: url, from: Self.attacker)
            extra.send(Self.health)
            let isClosed = extra.reply() == nil
            let somebody = try RawConnection(url: url, from: Self.other)
            somebody.send(Self.health)
            statuses.append(somebody.reply()?.status)
            return withExtendedLifetime(silent) { (isClosed, statuses) }
        }
        #expect(isExtraClosed)
        #expect(others == [200, 200, 200])
    }

    /// Three connections are one address's and were served, one is another's: of the three the one
    /// that has waited longest ends.
    @Test func `the oldest idle connection of the busiest address makes room`() async throws {
        let fixture = try await HubFixture()
        let server = try Self.server(fixture.hub) { $0.connections = 4 }
        let (ended, statuses) = try await Self.run(server) { url in
            let somebody = try RawConnection(url: url, from: Self.other)
            somebody.send(Self.health)
            var statuses = [somebody.reply()?.status]
            let idle = try (0..<3).map { _ in try RawConnection(url: url, from: Self.attacker) }
            for connection in idle {
                connection.send(Self.health)
                statuses.append(connection.reply()?.status)
                // A reply is there before its connection counts as one that waits, on another thread.
                blockUntil { server.connections.replyingCount == 0 }
            }
            let newcomer = try RawConnection(url: url, from: "127.0.0.4")
            newcomer.send(Self.health)
            statuses.append(newcomer.reply()?.status)
            let rest = idle[0].rest()
            for connection in [somebody, idle[1], idle[2], newcomer] {
                connection.send(Self.health)
                statuses.append(connection.reply()?.status)
            }
            return (rest, statuses)
        }
        #expect(ended.isEmpty)
        #expect(statuses == Array(repeating: 200, count: 9))
    }

    /// The library misses an end that came with the first bytes. A client that sends half a head and
    /// nothing else is still there when the other one was ended. The test looks at the connections itself:
    /// one look may come before a request is taken up, however late the library's thread is.
    @Test func `a client that ends in the middle of a body is ended, and behind it is answered`()
        async throws
    {
        let fixture = try await HubFixture()
        let server = try Self.server(fixture.hub, looksByItself: false) {
            $0.absenceSeconds = 3_600
        }
        let request = Self.post(fixture.target(.listZones, as: fixture.ada), "{}")
        let (isPatient, rest, statuses) = try await Self.run(server) { url in
            let silent = try RawConnection(url: url)
            silent.send(Array("GET /heal".utf8))
            let ended = try RawConnection(url: url)
            ended.send(request.dropLast())
            ended.finish()
            blockUntil {
                server.connections.closeLate()
                return ended.hasNews(milliseconds: 0)
            }
            let rest = ended.rest()
            let isPatient = !silent.hasNews(milliseconds: 0)
            let statuses = try (0..<20).map { _ in
                let whole = try RawConnection(url: url)
                whole.send(request)
                whole.finish()
                server.connections.closeLate()
                return whole.reply()?.status
            }
            return (isPatient, rest, statuses)
        }
        #expect(isPatient && rest.isEmpty)
        #expect(statuses == Array(repeating: 200, count: 20))
    }

    @Test func `a process with few descriptors takes few connections`() {
        var limits = HTTPLimits()
        #expect(limits.fitting(descriptors: 1 << 20) == limits)
        let fitting = limits.fitting(descriptors: 1_024)
        // Each with a file, as many whose head has not come, and those that are being closed.
        #expect(3 * fitting.connections + 256 + 64 <= 1_024 && fitting.connections > 200)
        limits.connections = 100
        #expect(limits.fitting(descriptors: 1_024).connections == 100)
        #expect(limits.fitting(descriptors: 0).connections == 1)
    }

    // MARK: Requests

    @Test func `an address has so many requests under way, and is told so behind their bodies`()
        async throws
    {
        let hub = try await MeteredHub()
        let fixture = hub.fixture
        let gate = fixture.hub.gate
        let name = HubRequest.addressName(of: NetworkAddress(Self.attacker))
        let write = Self.post(
            fixture.target(.modifyRecords, as: fixture.ada),
            "{\(MeteredHub.zoneID),\"operations\":[{\"operationType\":\"forceUpdate\",\"record\":"
                + MeteredHub.record(
                    "a", MeteredHub.text("s", String(repeating: "x", count: 20_000)))
                + "}]}")
        let server = try Self.server(fixture.hub) { $0.requestsPerAddress = 3 }
        let replies = try await Self.run(server) { url in
            for _ in 0..<3 { _ = gate.enter(name, max: 3) }
            let connection = try RawConnection(url: url, from: Self.attacker)
            let somebody = try RawConnection(url: url, from: Self.other)
            // What is refused came to its end, so that the connection goes on.
            let replies = [connection, connection, somebody].map { connection in
                connection.send(write)
                return connection.reply()
            }
            gate.leave(name)
            connection.send(write)
            return replies + [connection.reply()]
        }
        #expect(replies.map { $0?.status } == [429, 429, 200, 200])
        #expect(replies[0]?.headers["retry-after"] == "1")
        let error = try WireError(body: replies[0]?.body ?? [])
        #expect(error.code == .throttled && error.retryAfter == 1)
        #expect(gate.count(of: name) == 2)
    }

    @Test func `of an upload that is one too many nothing stays, and its address is still good`()
        async throws
    {
        let fixture = try await HubFixture()
        let place = WireAssetPlace(recordName: "a", fieldName: "f")
        let uploads: UploadTokensResponse = try await fixture.call(
            .uploadAssets, UploadRequest(places: [place]))
        let upload = Self.post(HostileWorld.path(try #require(uploads.tokens.first).url), "content")
        let gate = fixture.hub.gate
        let name = HubRequest.addressName(of: NetworkAddress(Self.attacker))
        let folder = fixture.folder.path + "/incoming"
        let server = try Self.server(fixture.hub) { $0.requestsPerAddress = 1 }
        let (statuses, left) = try await Self.run(server) { url in
            _ = gate.enter(name, max: 1)
            let connection = try RawConnection(url: url, from: Self.attacker)
            connection.send(upload)
            var statuses = [connection.reply()?.status]
            let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            gate.leave(name)
            connection.send(upload)
            statuses.append(connection.reply()?.status)
            return (statuses, left)
        }
        #expect(statuses == [429, 200])
        #expect(left == [])
    }

    // MARK: Replies

    /// More than the system buffers for a client that does not read.
    private static let replyBytes = 8 * 900_000

    /// A hub with a large record, and the bytes of a request that asks for it eight times.
    private static func largeReply(_ hub: MeteredHub) async throws -> [UInt8] {
        let text = String(repeating: "x", count: 900_000)
        try await hub.save(1) { _ in MeteredHub.record("large", MeteredHub.text("s", text)) }
        let names = Array(repeating: #"{"recordName":"large"}"#, count: 8).joined(separator: ",")
        return post(
            hub.fixture.target(.lookupRecords, as: hub.fixture.ada),
            "{\(MeteredHub.zoneID),\"records\":[\(names)]}")
    }

    @Test func `who does not read loses the oldest reply, and who reads has it whole`()
        async throws
    {
        let hub = try await MeteredHub()
        let request = try await Self.largeReply(hub)
        let server = try Self.server(hub.fixture.hub) { $0.repliesBytes = 3 * Self.replyBytes }
        let (first, last, whole) = try await Self.run(server) { url in
            // Each has its reply begun before the next one asks.
            let slow = try (0..<5).map { _ in
                let connection = try RawConnection(
                    url: url, from: Self.attacker, bufferBytes: 4_096)
                connection.send(request)
                _ = connection.hasNews(milliseconds: -1)
                return connection
            }
            let reader = try RawConnection(url: url, from: Self.other)
            reader.send(request)
            let whole = reader.reply()
            return (slow[0].reply(), slow[4].reply(), whole)
        }
        #expect(first == nil)
        #expect(last?.status == 200 && last?.body.count ?? 0 > Self.replyBytes)
        #expect(whole?.status == 200 && whole?.body.count ?? 0 > Self.replyBytes)
    }
}
