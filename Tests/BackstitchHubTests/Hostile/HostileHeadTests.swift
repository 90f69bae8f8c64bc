import CloudKitWire
import Foundation
import RawConnection
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What is wrong with the heads of requests, by value and over connections.
@Suite("Heads of requests that mean harm", .budgeted)
struct HostileHeadTests {
    private static func verdict(_ bytes: [UInt8]) -> HeadScan.Verdict {
        bytes.withUnsafeBytes { HeadScan.verdict($0, HTTPLimits()) }
    }

    @Test(arguments: HostileHeads.bad.filter(\.isInHead))
    func `a bad head is refused as soon as it shows`(bad: HostileHeads.Case) {
        guard case .refused(let status) = Self.verdict(bad.bytes) else {
            // Whether a body is too large for its place only the server knows.
            #expect(bad.statuses == [413], "\(Self.verdict(bad.bytes))")
            return
        }
        #expect(bad.statuses.contains(status))
        // Bytes that come later don't make it good.
        for count in stride(from: 0, to: bad.bytes.count, by: max(1, bad.bytes.count / 60)) {
            #expect(Self.verdict(Array(bad.bytes.prefix(count))) != .good)
        }
    }

    @Test(arguments: HostileHeads.good)
    func `a good head is good at its end and not before`(good: HostileHeads.Case) throws {
        let end = try #require(good.bytes.firstRange(of: Array("\r\n\r\n".utf8)))
        for count in 0..<end.upperBound {
            #expect(Self.verdict(Array(good.bytes.prefix(count))) == .incomplete)
        }
        #expect(Self.verdict(Array(good.bytes.prefix(end.upperBound))) == .good)
        #expect(Self.verdict(good.bytes) == .good)
    }

    @Test(arguments: [1_000, 4_000, 32_000])
    func `the work for a head in single bytes grows with its bound and no faster`(bound: Int) {
        var patience = HeadPatience(headBytes: bound)
        var (pieces, work) = (0, 0)
        repeat {
            pieces += 1
            work += pieces
        } while patience.look(at: pieces)
        #expect(work <= (HeadPatience.looksMax + 1) * bound)
        // Heads as clients send them have room, even byte by byte.
        #expect(pieces >= min(500, bound / 16))
    }

    @Test func `a refused request gets one answer, whether it comes at once or in pieces`()
        async throws
    {
        let fixture = try await HubFixture()
        let server = try Self.patientServer(fixture.hub)
        var wrong: [String] = []
        for bad in HostileHeads.bad + HostileHeads.good + HostileHeads.known {
            for pieces in [1, 3] {
                let reply = try await Self.exchange(server, bad.bytes, pieces: pieces)
                let text = String(decoding: reply, as: UTF8.self)
                let heads = text.components(separatedBy: "HTTP/1.1 ").count - 1
                let statuses = RawConnection.replies(in: reply).map(\.status)
                let isRight =
                    heads == 1 && statuses.count == 1 && bad.statuses.contains(statuses[0])
                if !isRight { wrong.append("\(bad.name), \(pieces): \(text.prefix(300))") }
            }
        }
        #expect(wrong == [])
        let metrics = fixture.hub.metricFamilies.map(\.text).joined()
        #expect(metrics.contains("call=\"refused\",status=\"400\""))
        await server.stop()
    }

    @Test func `what follows on a connection is refused by the hub, or by the library`()
        async throws
    {
        let fixture = try await HubFixture()
        let server = try Self.patientServer(fixture.hub)
        let first = Array("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        for bad in HostileHeads.bad {
            let reply = try await Self.exchange(server, first + bad.bytes, pieces: 1)
            let replies = RawConnection.replies(in: reply)
            #expect(replies.first?.status == 200, "\(bad.name)")
            // The library takes these; no other request is hidden in them.
            #expect(replies.count <= 3, "\(bad.name)")
        }
        let healthy = try await RawConnection.exchange(server, Self.health)
        #expect(healthy.hasSuffix("ok\n"))
        await server.stop()
    }

    @Test func `a client that says nothing, or half a head, holds up nobody, and goes`()
        async throws
    {
        let fixture = try await HubFixture()
        var configuration = HubServer.Configuration()
        configuration.limits.headSeconds = 1
        let server = try HubServer(fixture.hub, configuration: configuration)
        let rests = try await Self.onThread {
            let silent = try RawConnection(url: server.address)
            let half = try RawConnection(url: server.address)
            half.send(Array("GET /healthz HTTP/1.1\r\nHo".utf8))
            let gone = try RawConnection(url: server.address)
            gone.send(Array("GET /heal".utf8))
            gone.finish()
            // On a busy machine its second may be over before its head was looked at; then it comes again.
            var healthy: [UInt8] = []
            while healthy.isEmpty {
                let connection = try RawConnection(url: server.address)
                connection.send(Self.health)
                healthy = connection.rest()
            }
            return [healthy] + [silent, half, gone].map { $0.rest() }
        }
        #expect(String(decoding: rests[0], as: UTF8.self).hasSuffix("ok\n"))
        #expect(rests.dropFirst().map(\.count) == [0, 0, 0])
        await server.stop()
    }

    @Test func `a connection over the limit of its address is closed, and others go on`()
        async throws
    {
        let fixture = try await HubFixture()
        var configuration = HubServer.Configuration()
        configuration.limits.connectionsPerAddress = 3
        let server = try HubServer(fixture.hub, configuration: configuration)
        let rests = try await Self.onThread {
            let waiting = try (0..<3).map { _ in try RawConnection(url: server.address) }
            let extra = try RawConnection(url: server.address).rest()
            waiting[0].send(Self.health)
            return [extra, waiting[0].rest()]
        }
        #expect(rests[0].isEmpty)
        #expect(String(decoding: rests[1], as: UTF8.self).hasSuffix("ok\n"))
        await server.stop()
    }

    /// A server that also answers a client that has closed its side when the machine is busy. It looks for
    /// such clients only when it is told to.
    private static func patientServer(_ hub: Hub) throws -> HubServer {
        var configuration = HubServer.Configuration()
        configuration.limits.absenceSeconds = 3_600
        configuration.lookMilliseconds = 3_600_000
        return try HubServer(hub, configuration: configuration)
    }

    private static let health = Array(
        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)

    /// Runs what waits for a server on a thread of its own.
    private static func onThread<R: Sendable>(
        _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Sends bytes in some pieces, a moment between them so that most arrive apart, and answers all that comes
    /// until the server closes.
    private static func exchange(
        _ server: HubServer, _ bytes: [UInt8], pieces: Int
    ) async throws -> [UInt8] {
        try await onThread {
            let connection = try RawConnection(url: server.address)
            let size = max(1, (bytes.count + pieces - 1) / pieces)
            for start in stride(from: 0, to: bytes.count, by: size) {
                connection.send(Array(bytes[start..<min(start + size, bytes.count)]))
                if pieces > 1, connection.hasNews(milliseconds: 5) { break }
            }
            connection.finish()
            return connection.rest { server.connections.closeLate() }
        }
    }
}
