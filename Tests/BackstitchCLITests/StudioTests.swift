import Backstitch
import ChildProcess
import Foundation
import Glibc
import RawConnection
import TestBudget
import Testing

/// Attacks the server of Studio over its socket.
@Suite(.budgeted) struct StudioTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func count(_ answer: Any) -> Int? { (answer as? [String: Any])?["count"] as? Int }

    @Test func `a name that leads here is no reason to answer`() throws {
        try fixture.fill()
        let server = try StudioProcess(fixture)
        for host in [
            "evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80",
        ] {
            #expect(try server.send("GET", "/", ["Host": host]).status == 421)
            #expect(try server.send("GET", "/api/1/entities", ["Host": host]).status == 421)
        }
        let port = server.host.split(separator: ":")[1]
        #expect(try server.send("GET", "/", ["Host": "localhost:\(port)"]).status == 200)
    }

    @Test func `a socket in the file system is its owner's, and answers to few names`()
        throws
    {
        try fixture.fill()
        let path = fixture.root + "/studio.sock"
        let server = try StudioProcess(path: fixture.path, socket: path)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        for host in ["evil.example", "evil.example:8080", "localhost.evil:80", "localhost:x"] {
            #expect(try server.send("GET", "/", ["Host": host]).status == 421)
        }
        #expect(try server.read("entities").status == 401)
        try server.signIn()
        #expect(try server.read("entities").status == 200)
        let foreign = server.own.merging(["Origin": "http://localhost:9"]) { $1 }
        #expect(try server.send("GET", "/api/1/entities", foreign).status == 403)
        // Another one takes no socket away that is in use, and no file that is none.
        for taken in [path, fixture.dataPath] {
            let result = try Runner.run("studio", fixture.path, "--unix-socket", taken)
            #expect(result.code != 0 && result.complaint.contains("can listen at"))
        }
        #expect(try server.read("entities").status == 200)
        server.child.send(SIGTERM)
        #expect(try server.child.wait() == .exit(code: 0))
        #expect(stat(path, &status) != 0)
        // What a killed one left is no obstacle.
        let killed = try StudioProcess(path: fixture.path, socket: path)
        killed.child.send(SIGKILL)
        _ = try killed.child.wait()
        let next = try StudioProcess(path: fixture.path, socket: path)
        try next.signIn()
        for words in [
            ["--listen", "127.0.0.1:0", "--unix-socket", path],
            ["--unix-socket", "/" + String(repeating: "x", count: 200)],
        ] {
            #expect(try Runner.run(["studio", fixture.path] + words).code == 2)
        }
    }

    @Test func `calls need the cookie, and the token is good for one`() throws {
        try fixture.fill()
        let server = try StudioProcess(fixture)
        #expect(try server.send("GET", "/api/1/entities").status == 401)
        let wrong = ["Origin": server.origin, "Content-Type": "application/json"]
        for body in [
            "{}", #"{"token":""}"#, #"{"token":"\#(server.token.dropLast())x"}"#, "no JSON",
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
        let server = try StudioProcess(fixture)
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
        let server = try StudioProcess(fixture)
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
        let reader = try StudioProcess(fixture)
        try reader.signIn()
        let action = #"{"transaction":1,"confirm":"store"}"#
        #expect(try reader.act("transactions/undo", action).status == 403)
        #expect(try reader.act("jobs", #"{"kind":"compact","confirm":"store"}"#).status == 403)
        #expect(try reader.act("jobs", #"{"kind":"erase","confirm":"store"}"#).status == 400)
        reader.child.send(SIGTERM)
        #expect(try reader.child.wait() == .exit(code: 0))

        let server = try StudioProcess(fixture, "--allow-writes")
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
}
