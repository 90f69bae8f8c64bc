import BackstitchCore
import BackstitchTesting
import CloudKitWire
import Dispatch
import Foundation
import RawConnection
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// Sends hostile requests and collects what is wrong with the answers.
struct HostileRun {
    var maker: HostileMaker
    private(set) var failures: [String] = []
    /// How often each status was the answer.
    private(set) var statuses: [Int: Int] = [:]
    private let description: APIDescription

    init(world: HostileWorld, seed: UInt64) throws {
        maker = HostileMaker(random: SeededGenerator(seed: seed), world: world)
        description = try APIDescription.hub.get()
    }

    /// Hands requests to the hub, without a network.
    mutating func run(count: Int) async {
        let hub = maker.world.fixture.hub
        var made = 0
        while made < count, failures.count < 10 {
            let requests = maker.happens(onceIn: 6) ? maker.burst() : [maker.request()]
            made += requests.count
            let replies = await Self.replies(of: hub, to: requests)
            for (request, reply) in zip(requests, replies) { judge(request, reply) }
        }
    }

    /// Hands requests to the hub, all at once.
    private static func replies(
        of hub: Hub, to requests: [HubRequest]
    ) async -> [RawConnection.Reply] {
        await withTaskGroup(of: (Int, RawConnection.Reply).self) { group in
            for (index, request) in requests.enumerated() {
                group.addTask {
                    let response = await hub.respond(to: request)
                    let headers = Dictionary(
                        response.headers.map { ($0.name.lowercased(), $0.value) }
                    ) { $1 }
                    let reply = RawConnection.Reply(
                        status: response.status, headers: headers, body: response.body.content)
                    return (index, reply)
                }
            }
            let replies = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return requests.indices.compactMap { replies[$0] }
        }
    }

    /// Sends requests over HTTP, and among them bytes that are none. It blocks.
    mutating func run(count: Int, url: String) throws {
        var connection = try RawConnection(url: url)
        var isUsed = false
        var made = 0
        while made < count, failures.count < 10 {
            guard !maker.happens(onceIn: 8) else {
                made += 1
                try sendBroken(maker.brokenBytes(), url)
                continue
            }
            guard !maker.happens(onceIn: 10) else {
                made += try sendBurst(maker.burst(), url)
                continue
            }
            made += 1
            let request = maker.request()
            let bytes = maker.bytes(of: request)
            connection.send(bytes)
            var reply = connection.reply(hasBody: request.method != "HEAD")
            if reply == nil, isUsed {
                // On a busy machine it may have been idle for too long. Of a new one that can't be.
                connection = try RawConnection(url: url)
                connection.send(bytes)
                reply = connection.reply(hasBody: request.method != "HEAD")
            }
            if let reply { judge(request, reply) }
            // Without a reply it was refused before it was read to its end, and the answer may have got lost.
            isUsed = reply.map { $0.headers["connection"] != "close" } ?? false
            if !isUsed { connection = try RawConnection(url: url) }
        }
    }

    /// Sends requests before any is answered: one behind the other on the connections of a few clients.
    private mutating func sendBurst(_ requests: [HubRequest], _ url: String) throws -> Int {
        let clients = maker.pick([1, 2, requests.count])
        let connections = try (0..<clients).map {
            try RawConnection(url: url, from: "127.0.0.\(2 + $0)")
        }
        for (index, request) in requests.enumerated() {
            connections[index % clients].send(maker.bytes(of: request))
        }
        var closed: Set<Int> = []
        for (index, request) in requests.enumerated() where !closed.contains(index % clients) {
            let connection = connections[index % clients]
            guard let reply = connection.reply(hasBody: request.method != "HEAD") else {
                closed.insert(index % clients)
                continue
            }
            judge(request, reply)
            if reply.headers["connection"] == "close" { closed.insert(index % clients) }
        }
        return requests.count
    }

    private mutating func sendBroken(_ bytes: [UInt8], _ url: String) throws {
        let connection = try RawConnection(url: url)
        connection.send(bytes)
        connection.finish()
        // The server waits for the rest of a request that was cut off, and its first words are judged. On a
        // busy machine they may come too late for that, which is no failure.
        for coded in RawConnection.replies(in: connection.beginning(silenceMilliseconds: 20)) {
            let about = "\(String(decoding: bytes.prefix(400), as: UTF8.self))"
            guard let reply = note(coded, about) else { continue }
            guard reply.status > 200 else { continue }
            let problems = description.problems(
                failure: reply.status, reply.headers, reply.body)
            if !problems.isEmpty { failures.append("\(problems) \(reply.status) \(about)") }
        }
    }

    private mutating func judge(_ request: HubRequest, _ coded: RawConnection.Reply) {
        let body = String(decoding: request.bytes.prefix(4_000), as: UTF8.self)
        let about = "\(request.method) \(request.target.prefix(500))\n\(body)"
        guard let reply = note(coded, about) else { return }
        let problems = description.problems(
            request.method, request.target, request: request.bytes, status: reply.status,
            headers: reply.headers, reply: reply.body)
        if !problems.isEmpty {
            let text = String(decoding: reply.body.prefix(800), as: UTF8.self)
            failures.append("\(problems.prefix(4)) \(reply.status) \(text) \(about)")
        }
    }

    /// Looks for what no reply may be or tell, and answers the reply without its compression.
    private mutating func note(
        _ coded: RawConnection.Reply, _ about: String
    ) -> RawConnection.Reply? {
        statuses[coded.status, default: 0] += 1
        guard let reply = coded.inflated else {
            failures.append("What is said to be gzip is none. \(about)")
            return nil
        }
        let text = String(decoding: reply.body, as: UTF8.self)
        if (500...503).contains(reply.status), reply.status != 501 {
            failures.append("\(reply.status): \(text.prefix(400)) \(about)")
        }
        for secret in HostileWorld.secrets where text.utf8.firstRange(of: secret.utf8) != nil {
            failures.append("'\(secret)' is told: \(text.prefix(800)) \(about)")
        }
        return reply
    }
}

@Suite("A hub under hostile requests", .budgeted)
struct HubFuzzTests {
    /// How many requests each seed makes; `BACKSTITCH_FUZZ_REQUESTS` asks for more.
    private static let count = Load.count("BACKSTITCH_FUZZ_REQUESTS", else: 120)

    @Test(
        "no request fails the hub, or shows or changes what is another user's",
        arguments: 1...4 as ClosedRange<UInt64>)
    func direct(seed: UInt64) async throws {
        let world = try await HostileWorld(seed: seed)
        var run = try HostileRun(world: world, seed: seed)
        await run.run(count: Self.count)
        #expect(run.failures == [], "seed \(seed)")
        #expect(try await world.damage() == [], "seed \(seed)")
        #expect((run.statuses[200] ?? 0) > Self.count / 10, "\(run.statuses)")
    }

    @Test("nor does anything that comes over HTTP", arguments: 11...12 as ClosedRange<UInt64>)
    func overHTTP(seed: UInt64) async throws {
        let world = try await HostileWorld(seed: seed)
        var configuration = HubServer.Configuration()
        // What waits for the rest of a request that does not come is not to hold the test up.
        configuration.limits.idleSeconds = 2
        let server = try HubServer(world.fixture.hub, configuration: configuration)
        let start = try HostileRun(world: world, seed: seed)
        let run = try await withCheckedThrowingContinuation { continuation in
            // The hub answers on the threads of tasks, which this loop must not take.
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        var run = start
                        try run.run(count: Self.count, url: server.address)
                        return run
                    })
            }
        }
        await server.stop()
        #expect(run.failures == [], "seed \(seed)")
        #expect(try await world.damage() == [], "seed \(seed)")
        #expect((run.statuses[200] ?? 0) > Self.count / 10, "\(run.statuses)")
        if Self.count > 1_000 { print("seed \(seed): \(run.statuses.sorted { $0.key < $1.key })") }
    }

    @Test(
        "a request that comes byte by byte is not waited for",
        arguments: [
            "GET /healthz HTTP/1.1\r\nX-Slow: ",
            "POST CALL HTTP/1.1\r\nHost: hub\r\nContent-Length: 100000\r\n\r\n",
        ])
    func slow(start: String) async throws {
        let fixture = try await HubFixture()
        let start = start.replacing("CALL", with: fixture.target(.listZones, as: fixture.ada))
        var configuration = HubServer.Configuration()
        configuration.limits.headSeconds = 0
        configuration.limits.bodySeconds = 0
        let server = try HubServer(fixture.hub, configuration: configuration)
        let reply = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        let connection = try RawConnection(url: server.address)
                        connection.send(Array(start.utf8))
                        while !connection.hasNews(milliseconds: 20) {
                            connection.send([UInt8(ascii: "a")])
                        }
                        return connection.rest()
                    })
            }
        }
        #expect(reply.isEmpty)
        await server.stop()
    }
}
