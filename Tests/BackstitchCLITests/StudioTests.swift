import Backstitch
import BackstitchTesting
import ChildProcess
import Foundation
import Glibc
import RawConnection
import Testing

/// Attacks the server of Studio over its socket, and asks what its page asks.
@Suite(.timeLimit(.minutes(5))) struct StudioTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// The command, serving the store of a fixture.
    private final class Server {
        let child: ChildProcess
        let origin: String
        let token: String
        var cookie = ""
        var secret = ""

        init(_ fixture: StoreFixture, _ options: String...) throws {
            child = try Runner.start(["studio", fixture.path, "--json"] + options)
            var line: [UInt8] = []
            while let byte = child.output.readData(ofLength: 1).first, byte != 10 {
                line.append(byte)
            }
            let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: String]
            let parts = try #require(object?["url"]?.components(separatedBy: "/#token="))
            (origin, token) = (parts[0], parts[1])
        }

        deinit { kill(child.identifier, SIGKILL) }

        var host: String { String(origin.dropFirst("http://".count)) }

        /// Sends a request as it stands.
        func send(
            _ method: String = "GET", _ target: String, _ headers: [String: String] = [:],
            body: String = ""
        ) throws -> RawConnection.Reply {
            var head = [
                "Host": host, "Content-Length": "\(body.utf8.count)", "Connection": "close",
            ]
            head.merge(headers) { $1 }
            let lines = head.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }
            let connection = try RawConnection(url: origin)
            connection.send(
                Array("\(method) \(target) HTTP/1.1\r\n\(lines.joined())\r\n\(body)".utf8))
            return try #require(connection.reply())
        }

        /// What the page sends with every request.
        var own: [String: String] { ["Origin": origin, "Cookie": cookie] }

        func signIn() throws {
            let reply = try send(
                "POST", "/api/1/session", ["Origin": origin, "Content-Type": "application/json"],
                body: #"{"token":"\#(token)"}"#)
            #expect(reply.status == 200)
            let set = try #require(reply.headers["set-cookie"])
            #expect(set.hasSuffix("; HttpOnly; SameSite=Strict; Path=/"))
            cookie = String(set.prefix { $0 != ";" })
            secret = try #require(reply.headers["x-backstitch-studio"])
        }

        func read(_ call: String) throws -> (status: Int, body: Any) {
            let reply = try send("GET", "/api/1/" + call, own)
            let body = try JSONSerialization.jsonObject(with: Data(reply.body))
            return (reply.status, body)
        }

        func act(
            _ call: String, _ body: String, _ headers: [String: String] = [:]
        ) throws -> RawConnection.Reply {
            var all = own
            all["Content-Type"] = "application/json"
            all["X-Backstitch-Studio"] = secret
            return try send("POST", "/api/1/" + call, all.merging(headers) { $1 }, body: body)
        }
    }

    private func count(_ answer: Any) -> Int? { (answer as? [String: Any])?["count"] as? Int }

    @Test func `a name that leads here is no reason to answer`() throws {
        try fixture.fill()
        let server = try Server(fixture)
        for host in [
            "evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80",
        ] {
            #expect(try server.send("GET", "/", ["Host": host]).status == 421)
            #expect(try server.send("GET", "/api/1/entities", ["Host": host]).status == 421)
        }
        let port = server.host.split(separator: ":")[1]
        #expect(try server.send("GET", "/", ["Host": "localhost:\(port)"]).status == 200)
    }

    @Test func `calls need the cookie, and the token is good for one`() throws {
        try fixture.fill()
        let server = try Server(fixture)
        #expect(try server.send("GET", "/api/1/entities").status == 401)
        let wrong = ["Origin": server.origin, "Content-Type": "application/json"]
        for body in [
            "{}", #"{"token":""}"#, #"{"token":"\#(server.token.dropLast())0"}"#, "no JSON",
        ] {
            let reply = try server.send("POST", "/api/1/session", wrong, body: body)
            #expect(reply.status >= 400 && reply.headers["set-cookie"] == nil)
        }
        try server.signIn()
        #expect(try server.read("entities").status == 200)
        let again = try server.send(
            "POST", "/api/1/session", wrong, body: #"{"token":"\#(server.token)"}"#)
        #expect(again.status == 401 && again.headers["set-cookie"] == nil)
        let port = try #require(server.host.split(separator: ":").last)
        for cookie in [
            "backstitch-studio-1=" + server.cookie.split(separator: "=")[1],
            "backstitch-studio-\(port)=", "backstitch-studio-\(port)=" + server.token,
        ] {
            let reply = try server.send(
                "GET", "/api/1/entities", ["Origin": server.origin, "Cookie": cookie])
            #expect(reply.status == 401)
        }
    }

    @Test func `other pages are refused, and get no leave to read`() throws {
        try fixture.fill()
        let server = try Server(fixture)
        try server.signIn()
        let foreign = [
            ["Origin": "http://evil.example"], ["Origin": "null"], ["Origin": ""],
            ["Origin": "", "Sec-Fetch-Site": "cross-site"],
            ["Origin": "", "Sec-Fetch-Site": "same-site"],
        ]
        for headers in foreign {
            let all = server.own.merging(headers) { $1 }
            for target in ["/api/1/entities", "/app.js", "/api/1/session"] {
                let reply = try server.send("GET", target, all)
                #expect(reply.status == 403)
                #expect(!reply.headers.keys.contains { $0.hasPrefix("access-control-") })
            }
            #expect(try server.act("jobs", #"{"kind":"verify"}"#, headers).status == 403)
        }
        #expect(try server.send("OPTIONS", "/api/1/entities", server.own).status == 405)
        let site = ["Cookie": server.cookie, "Sec-Fetch-Site": "same-origin"]
        #expect(try server.send("GET", "/api/1/entities", site).status == 200)
    }

    @Test func `every answer keeps other content out`() throws {
        try fixture.fill()
        let server = try Server(fixture)
        for target in ["/", "/favicon.ico", "/nothing", "/api/1/entities"] {
            let headers = try server.send("GET", target, ["Origin": server.origin]).headers
            let policy = try #require(headers["content-security-policy"])
            for part in [
                "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
                "base-uri 'none'", "form-action 'none'",
            ] { #expect(policy.contains(part)) }
            #expect(headers["x-content-type-options"] == "nosniff")
            #expect(headers["referrer-policy"] == "no-referrer")
            #expect(headers["cross-origin-opener-policy"] == "same-origin")
        }
        for target in ["/../../etc/passwd", "/%2e%2e/etc/passwd", "/style.css/..", "//app.js"] {
            #expect(try server.send("GET", target, ["Origin": server.origin]).status == 404)
        }
    }

    @Test func `actions need JSON, the header, leave, and the store's name`() throws {
        try fixture.fill()
        let reader = try Server(fixture)
        try reader.signIn()
        let action = #"{"transaction":1,"confirm":"store"}"#
        #expect(try reader.act("transactions/undo", action).status == 403)
        #expect(try reader.act("jobs", #"{"kind":"compact","confirm":"store"}"#).status == 403)
        #expect(try reader.act("jobs", #"{"kind":"erase","confirm":"store"}"#).status == 400)
        kill(reader.child.identifier, SIGTERM)
        #expect(try reader.child.wait() == .exit(code: 0))

        let server = try Server(fixture, "--allow-writes")
        try server.signIn()
        for type in ["text/plain", "application/x-www-form-urlencoded", ""] {
            let reply = try server.act("transactions/undo", action, ["Content-Type": type])
            #expect(reply.status == 415)
        }
        for secret in ["", "x", server.token] {
            let reply = try server.act(
                "transactions/undo", action, ["X-Backstitch-Studio": secret])
            #expect(reply.status == 403)
        }
        #expect(try server.act("transactions/undo", #"{"transaction":1}"#).status == 409)
        #expect(
            try server.act("transactions/undo", #"{"transaction":1,"confirm":"other"}"#).status
                == 409)
        for call in [
            "transactions/undo?transaction=1&confirm=store", "conflicts/undo", "jobs/stop",
        ] {
            #expect(try server.read(call).status == 404, "GET changes nothing")
        }
        #expect(try server.act("entities", action).status == 404)
        #expect(count(try server.read("count?entity=Note").body) == 3)
        #expect(try server.act("transactions/undo", action).status == 200)
        #expect(count(try server.read("count?entity=Note").body) == 2)
        let large = #"{"x":"\#(String(repeating: "x", count: 70_000))"}"#
        #expect(try server.act("transactions/undo", large).status == 413)
    }

    @Test(arguments: ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "127.0.0.1", ":0", "127.0.0.1:x"])
    func `addresses that others reach are refused`(address: String) throws {
        try fixture.fill(1)
        let result = try Runner.run("studio", fixture.path, "--listen", address)
        #expect(result.code == 2 && result.output.isEmpty && !result.complaint.isEmpty)
    }

    @Test func `records come in pages with the condition and the order that were asked for`() throws
    {
        try fixture.fill(5)
        let server = try Server(fixture)
        try server.signIn()
        func page(_ query: String) throws -> (names: [String], next: String?) {
            let object = try #require(
                try server.read("records?entity=Note&" + query).body as? [String: Any])
            let records = object["records"] as? [[String: Any]] ?? []
            return (records.compactMap { $0["record"] as? String }, object["next"] as? String)
        }
        let first = try page("limit=2&sort=-title")
        #expect(first.names == ["n4", "n3"])
        let allowed = CharacterSet.alphanumerics
        let next = try #require(first.next?.addingPercentEncoding(withAllowedCharacters: allowed))
        #expect(try page("limit=2&sort=-title&after=\(next)").names == ["n2", "n1"])
        #expect(try page("where=title%20=%20'Note%203'").names == ["n3"])
        for bad in [
            "records?entity=None", "records?entity=Note&where=title%20~", "records",
            "records?entity=Note&after=x", "records?entity=Note&limit=-1", "records?entity=--help",
            "history?entity=Note", "log?before=x", "nothing",
        ] {
            let answer = try server.read(bad)
            #expect(answer.status == 400 || answer.status == 404)
            #expect(((answer.body as? [String: Any])?["error"] as? String)?.isEmpty == false)
        }
    }

    @Test func `the log comes in pages from its end`() throws {
        try fixture.fill(7)
        let server = try Server(fixture)
        try server.signIn()
        var sequences: [Int] = []
        var before: Int?
        repeat {
            let target = "log?limit=3" + (before.map { "&before=\($0)" } ?? "")
            let page = try #require(try server.read(target).body as? [String: Any])
            let operations = page["operations"] as? [[String: Any]] ?? []
            sequences += operations.compactMap { $0["sequence"] as? Int }
            before = page["before"] as? Int
        } while before != nil
        #expect(sequences == [7, 6, 5, 4, 3, 2, 1])
        let one = try #require(try server.read("log?entity=Note&record=n2").body as? [String: Any])
        #expect((one["operations"] as? [[String: Any]])?.count == 1)
    }

    @Test func `a change of another process ends the wait`() throws {
        try fixture.fill(2)
        let server = try Server(fixture)
        try server.signIn()
        let connection = try RawConnection(url: server.origin)
        connection.send(
            Array(
                ("GET /api/1/changes?after=2 HTTP/1.1\r\nHost: \(server.host)\r\n"
                    + "Origin: \(server.origin)\r\nCookie: \(server.cookie)\r\n\r\n").utf8))
        #expect(!connection.hasNews(milliseconds: 300))
        let store = try fixture.open()
        try store.save("more", "More")
        store.close()
        let reply = try #require(connection.reply())
        #expect(String(decoding: reply.body, as: UTF8.self) == #"{"lastSequence":3}"#)
    }

    @Test func `what waits to be pushed is listed and reverted`() async throws {
        let cloud = SimulatedCloud()
        let store = try fixture.open()
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        try store.save("n", "base")
        try await engine.sync()
        try store.save("n", "mine")
        await engine.stop()
        store.close()
        let server = try Server(fixture, "--allow-writes")
        try server.signIn()
        let box = try #require(try server.read("outbox").body as? [String: Any])
        let pending = try #require((box["pending"] as? [[String: Any]])?.first)
        #expect(pending["record"] as? String == "n" && pending["change"] as? String == "update")
        let members = #"{"entity":"Note","record":"n","confirm":"store"}"#
        for call in ["parked/retry", "parked/discard"] {
            let reply = try server.act(call, members)
            #expect(String(decoding: reply.body, as: UTF8.self) == #"{"changed":false}"#)
        }
        let reverted = try server.act("records/revert", members)
        #expect(String(decoding: reverted.body, as: UTF8.self) == #"{"changed":true}"#)
        let after = try #require(try server.read("outbox").body as? [String: Any])
        #expect((after["pending"] as? [Any])?.isEmpty == true)
    }

    @Test func `work runs in a process of its own, and says what came of it`() throws {
        try fixture.fill(3)
        let server = try Server(fixture)
        try server.signIn()
        #expect(try server.act("jobs", #"{"kind":"verify"}"#).status == 200)
        var status: [String: Any] = ["running": true]
        while status["running"] as? Bool == true {
            status = try #require(try server.read("jobs").body as? [String: Any])
        }
        #expect(status["exitCode"] as? Int == 0)
        #expect((status["result"] as? String)?.contains(#""consistent":true"#) == true)
        #expect(try server.act("jobs/stop", "{}").status == 200)
    }
}
