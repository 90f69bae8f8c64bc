import CloudKitWire
import Foundation
import RawConnection
import TestBudget
import Testing
import Threading

@testable import BackstitchHub
@testable import BackstitchHubBucket
@testable import BackstitchHubCore

/// What a server tells of itself: figures, lines of its logs, and the pages for those who watch it.
@Suite(.budgeted) struct HubObservationTests {
    private static func get(_ url: String, _ path: String, headers: String = "") async throws
        -> String
    {
        let request = "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(headers)\r\n"
        return try await send(Array(request.utf8), to: url)
    }

    private static func send(_ request: [UInt8], to url: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        let connection = try RawConnection(url: url)
                        connection.send(request)
                        return String(decoding: connection.rest(), as: UTF8.self)
                    })
            }
        }
    }

    // MARK: Figures

    @Test func `figures of a name are spelt as Prometheus reads them`() {
        var family = MetricFamily(.histogram, "a_seconds", "Text.")
        family.add(3, suffix: "_bucket", ["call": "x", "le": "0.5"])
        family.add("0.25", suffix: "_sum", ["call": "x"])
        #expect(
            family.text == """
                # HELP a_seconds Text.
                # TYPE a_seconds histogram
                a_seconds_bucket{call="x",le="0.5"} 3
                a_seconds_sum{call="x"} 0.25

                """)
        #expect(family.labelNames == ["call"])
        #expect(MetricFamily(.gauge, "b", "Text.", 5).text.hasSuffix("\nb 5\n"))
    }

    @Test func `a latency is in the bucket of its size and all larger ones`() throws {
        let metrics = ServerMetrics()
        metrics.note("x", nanoseconds: 1_000_000, requestBytes: 5, responseBytes: 7)
        metrics.note("x", nanoseconds: 1_000_001, requestBytes: 0, responseBytes: 0)
        metrics.note("x", nanoseconds: 60_000_000_000, requestBytes: 0, responseBytes: 0)
        let text = metrics.families.map(\.text).joined()
        func line(_ bound: String, _ count: Int) -> String {
            "backstitch_hub_request_duration_seconds_bucket{call=\"x\",le=\"\(bound)\"} \(count)\n"
        }
        for expected in [
            line("0.0005", 0), line("0.001", 1), line("0.0025", 2), line("10", 2), line("+Inf", 3),
            "_sum{call=\"x\"} 60.002000001\n", "_count{call=\"x\"} 3\n",
            "backstitch_hub_request_body_bytes_total 5\n",
            "backstitch_hub_response_body_bytes_total 7\n",
        ] {
            #expect(text.contains(expected), "\(expected)\n\(text)")
        }
    }

    @Test func `figures of a process are read whatever its name is`() throws {
        let fields = (3...52).map { String($0 * 10) }.joined(separator: " ")
        let figures = try #require(ProcessFigures.Stat("1 (a b) c) " + fields + "\n"))
        #expect(figures.ticks == 140 + 150 && figures.threads == 200)
        #expect(figures.virtualBytes == 230 && figures.residentPages == 240)
        #expect(ProcessFigures.Stat("1 (a) S 1") == nil)
        #expect(ProcessFigures.Stat("") == nil)
    }

    /// The table in the guide: name, type and labels of each row that counts for a hub over a storage.
    private static func documented(_ engine: StorageEngine) throws -> Set<[String]> {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Documentation/guides/operating.md")
        let text = try String(contentsOf: path, encoding: .utf8)
        let rows = text.split(separator: "\n").filter {
            $0.hasPrefix("| `backstitch_hub_") || $0.hasPrefix("| `process_")
        }.filter {
            engine != .postgreSQL || !$0.contains("A hub over PostgreSQL has no such figure")
        }
        return Set(
            rows.map { row in
                row.split(separator: "|").prefix(3).map {
                    $0.replacing("`", with: "").trimmingCharacters(in: .whitespaces)
                }
            })
    }

    @Test(arguments: StorageEngine.served)
    func `the guide has the name, the type and the labels of every figure`(
        engine: StorageEngine
    ) async throws {
        let bucket = try BucketServer()
        let fixture = try await HubFixture(
            storage: engine.storage(.patient), store: HubFileStore(bucket.bucket()))
        var file = try #require(HubFile(.global, String(repeating: "a", count: 64)))
        file.object = HubFile.Object(name: "none", byteCount: 1)
        #expect(try !fixture.hub.assets.holds(file))
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("figures-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if engine == .lmdb {
            try Data(count: 100).write(to: URL(fileURLWithPath: folder + "/data.mdb"))
        }
        var configuration = HubServer.Configuration()
        configuration.folder = URL(filePath: folder)
        let server = try HubServer(fixture.hub, configuration: configuration)
        _ = try await Self.get(server.address, "/healthz")
        let page = try await Self.get(server.address, "/metrics")
        await server.stop()
        let families = fixture.hub.metricFamilies
        #expect(Set(families.map(\.name)).count == families.count)
        for family in families { #expect(page.contains("# TYPE \(family.name) ")) }
        let found = families.map {
            [$0.name, $0.kind.rawValue, $0.labelNames.sorted().joined(separator: ", ")]
        }
        let documented = try Self.documented(engine)
        #expect(Set(found).symmetricDifference(documented).sorted { $0[0] < $1[0] } == [])
        try Self.promtool(page)
    }

    /// Has Prometheus' own tool look at the figures.
    private static func promtool(_ page: String) throws {
        guard access("/usr/bin/promtool", X_OK) == 0 else {
            print("SKIPPED: promtool is missing (Debian: prometheus), and nobody checked /metrics.")
            return
        }
        let body = page.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/promtool")
        process.arguments = ["check", "metrics"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(body.utf8))
        try input.fileHandleForWriting.close()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(String(decoding: said, as: UTF8.self))")
        #expect(said.isEmpty, "\(String(decoding: said, as: UTF8.self))")
    }

    // MARK: Logs

    @Test func `a request is in the access log, and nothing that opens anything`() async throws {
        let fixture = try await HubFixture()
        let (accessed, audited) = (Locked<[String]>([]), Locked<[String]>([]))
        var configuration = HubServer.Configuration()
        configuration.accessLog = { line in accessed.withLock { $0.append(line) } }
        configuration.auditLog = { line in audited.withLock { $0.append(line) } }
        let server = try HubServer(fixture.hub, configuration: configuration)
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let target = fixture.target(.currentUser, as: fixture.ada)
        let answer = try await Self.get(
            server.address, target, headers: "traceparent: 00-\(trace)-00f067aa0ba902b7-01\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        let wrong = target.replacing(fixture.apiToken, with: "secret-guess")
        #expect(try await Self.get(server.address, wrong).hasPrefix("HTTP/1.1 401 "))
        #expect(try await Self.get(server.address, "/courier/1/abc?x=secret").contains(" 404 "))
        _ = try await Self.get(server.address, "/healthz", headers: "X y: 1\r\n")
        await server.stop()
        let lines = accessed.withLock { $0 }
        #expect(lines.count == 4)
        for line in lines + audited.withLock({ $0 }) {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            #expect(object is [String: Any])
            #expect(!line.contains("\n") && !line.contains("?"))
            for secret in [fixture.apiToken, fixture.ada.webAuthToken, "secret", "abc"] {
                #expect(!line.contains(secret), "\(line)")
            }
        }
        let first = try #require(lines.first { $0.contains("\"status\":200") })
        for part in [
            "\"log\":\"access\"", "\"client\":\"127.0.0.1\"", "\"method\":\"GET\"",
            "\"trace\":\"\(trace)\"", "\"span\":\"00f067aa0ba902b7\"", "\"request\":\"",
        ] {
            #expect(first.contains(part), "\(first)")
        }
        #expect(lines.contains { $0.contains("\"call\":\"refused\"") && $0.contains("400") })
        let audit = audited.withLock { $0 }
        #expect(audit.count == 1)
        #expect(audit.first?.contains("\"event\":\"signInFailed\"") == true, "\(audit)")
    }

    @Test func `a head that is refused is noted with the client that a proxy tells`() async throws {
        let fixture = try await HubFixture()
        let (accessed, audited) = (Locked<[String]>([]), Locked<[String]>([]))
        var configuration = HubServer.Configuration()
        configuration.trustedProxies = ["127.0.0.1"]
        configuration.accessLog = { line in accessed.withLock { $0.append(line) } }
        configuration.auditLog = { line in audited.withLock { $0.append(line) } }
        let server = try HubServer(fixture.hub, configuration: configuration)
        let target = fixture.target(.listZones, as: fixture.ada)
            .replacing(fixture.apiToken, with: "guess")
        let head =
            "POST \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            + "X-Forwarded-For: 203.0.113.7\r\nContent-Length: 2\r\n\r\n{}"
        let answer = try await Self.send(Array(head.utf8), to: server.address)
        #expect(answer.hasPrefix("HTTP/1.1 401 "))
        await server.stop()
        for lines in [accessed.withLock({ $0 }), audited.withLock({ $0 })] {
            #expect(lines.count == 1)
            #expect(lines.first?.contains("\"client\":\"203.0.113.7\"") == true, "\(lines)")
        }
    }

    @Test(arguments: [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false), ("", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nX: 1", false),
    ])
    func `the place in a trace is read strictly`(text: String, isGood: Bool) {
        #expect((TraceParent(text) != nil) == isGood)
    }

    // MARK: Pages

    @Test func `pages for those who watch the hub can have an address of their own`() async throws {
        let fixture = try await HubFixture()
        var configuration = HubServer.Configuration()
        configuration.metricsHost = "127.0.0.1"
        let server = try HubServer(fixture.hub, configuration: configuration)
        let metrics = try #require(server.metricsURL?.absoluteString)
        #expect(metrics.hasSuffix("/metrics") && !metrics.hasPrefix(server.address + "/"))
        let own = String(metrics.dropLast("/metrics".count))
        for (path, main, watched) in [
            ("/healthz", 200, 200), ("/ready", 404, 200), ("/metrics", 404, 200),
            ("/metrics?x", 404, 200), ("/asset/1/00", 404, 404),
            (fixture.target(.currentUser, as: fixture.ada), 200, 404),
        ] {
            let (first, second) = (
                try await Self.get(server.address, path), try await Self.get(own, path)
            )
            #expect(first.hasPrefix("HTTP/1.1 \(main) "), "\(path) \(first.prefix(40))")
            #expect(second.hasPrefix("HTTP/1.1 \(watched) "), "\(path) \(second.prefix(40))")
        }
        await server.stop()
        #expect(throws: (any Error).self) { try RawConnection(url: own) }
    }

    @Test func `a server shows that it serves, and does not when it has ended`() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        #expect(await server.isResponsive(within: 300_000))
        await server.stop()
        #expect(await !server.isResponsive(within: 100))
        // Who accepts nothing does not either: the queue of the socket takes the connection.
        let socket = try ListenSocket(host: "127.0.0.1", port: 0)
        #expect(!ListenSocket.reacts(host: "127.0.0.1", port: socket.port, within: 200))
    }
}
