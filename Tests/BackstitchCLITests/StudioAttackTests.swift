import Backstitch
import BackstitchCore
import ChildProcess
import Foundation
import Glibc
import RawConnection
import TestBudget
import Testing

/// Attacks what Studio does with stores: that it reads them only, how much it takes for large ones, and what
/// becomes of a page whose store or server goes.
@Suite(.budgeted) struct StudioAttackTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// The bytes of the store's files but for the table of readers, which every program that reads has.
    private func bytes() throws -> [String: String] {
        try fixture.snapshot().filter { !$0.key.hasSuffix("lock.mdb") }
    }

    @Test func `whatever is asked of it, a studio that only reads leaves every byte`() throws {
        try fixture.fill(50)
        _ = try Runner.run("verify", fixture.path)
        let before = try bytes()
        let server = try StudioProcess(fixture)
        try server.signIn()
        for call in [
            "session", "entities", "inspect", "records?entity=Note&sort=-stars", "log", "outbox",
            "records?entity=Note&scan=1", "count?entity=Note&where=stars%3E0", "conflicts",
            "assets",
            "explain?entity=Note&where=stars%3E0", "history?entity=Note&record=n1", "jobs",
            "record?entity=Note&record=n1", "find?record=n1", "searches", "changes?after=0",
        ] {
            #expect(try server.read(call).status == 200, "\(call)")
        }
        let members =
            #"{"entity":"Note","record":"n1","sequence":1,"transaction":1,"lastSequence":1,"#
            + #""values":"{\"stars\":{\"int64\":9}}","confirm":"store"}"#
        for call in [
            "transactions/undo", "conflicts/undo", "records/revert", "records/edit", "parked/retry",
            "parked/discard",
        ] {
            #expect(try server.act(call, members).status == 403, "\(call)")
            #expect(try server.read(call).status == 404)
        }
        for kind in ["compact", "backup"] {
            let job = #"{"kind":"\#(kind)","target":"\#(fixture.root)/copy","confirm":"store"}"#
            #expect(try server.act("jobs", job).status == 403)
        }
        for kind in ["verify", "doctor", "assets"] {
            #expect(try server.act("jobs", #"{"kind":"\#(kind)"}"#).status == 200)
            var isRunning = true
            while isRunning {
                let status = try #require(try server.read("jobs").body as? [String: Any])
                isRunning = status["running"] as? Bool == true
                if !isRunning { #expect(status["exitCode"] as? Int == 0, "\(kind) \(status)") }
            }
        }
        server.child.send(SIGTERM)
        #expect(try server.child.wait() == .exit(code: 0))
        #expect(try bytes() == before)
    }

    @Test func `the cookie of another instance opens nothing, and stands beside the right one`()
        throws
    {
        try fixture.fill()
        let (one, other) = (try StudioProcess(fixture), try StudioProcess(fixture))
        try one.signIn()
        try other.signIn()
        #expect(one.cookie != other.cookie && one.secret != other.secret)
        let foreign = ["Origin": other.origin, "Cookie": one.cookie]
        #expect(try other.send("GET", "/api/1/entities", foreign).status == 401)
        // Renamed as the other's, it is still another secret.
        let name = other.cookie.prefix { $0 != "=" }
        let forged = "\(name)=\(one.cookie.split(separator: "=")[1])"
        #expect(
            try other.send("GET", "/api/1/entities", ["Origin": other.origin, "Cookie": forged])
                .status == 401)
        // A browser sends the cookies of all ports to each.
        let both = ["Origin": other.origin, "Cookie": "a=b; \(one.cookie); \(other.cookie)"]
        #expect(try other.send("GET", "/api/1/entities", both).status == 200)
        var headers = ["Content-Type": "application/json", "X-Backstitch-Studio": one.secret]
        headers.merge(both) { $1 }
        #expect(try other.send("POST", "/api/1/jobs/stop", headers, body: "{}").status == 403)
    }

    @Test func `names of this machine are taken in every form, and no others`() throws {
        try fixture.fill()
        let server = try StudioProcess(fixture)
        let port = try #require(server.host.split(separator: ":").last)
        for host in ["127.0.0.1:\(port)", "LOCALHOST:\(port)", "[::1]:\(port)"] {
            #expect(try server.send("GET", "/", ["Host": host]).status == 200, "\(host)")
        }
        for host in [
            "127.0.0.2:\(port)", "[::]:\(port)", "localhost.:\(port)", "localhost:\(port).evil",
            "127.0.0.1:\(port)@evil", "evil\u{0}localhost:\(port)", "127.1:\(port)",
            "[::1]:\(port)x", "0x7f000001:\(port)", " localhost:0\(port)", "localhost:+\(port)",
        ] {
            #expect(try server.send("GET", "/", ["Host": host]).status >= 400, "\(host)")
        }
    }

    @Test(.budgeted(places: 4))
    func `heads that never end keep nobody out`() throws {
        try fixture.fill()
        let server = try StudioProcess(fixture)
        try server.signIn()
        let slow = try (0..<300).map { number in
            let connection = try RawConnection(url: server.origin)
            connection.send(
                Array("GET /api/1/entities HTTP/1.1\r\nHost: \(server.host)\r\nX-\(number): ".utf8))
            return connection
        }
        for _ in 0..<20 { #expect(try server.read("entities").status == 200) }
        withExtendedLifetime(slow) {}
    }

    @Test func `the page makes no markup from text, and evaluates none`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Sources/BackstitchStudio/Page").path
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc",
                "new Function", "createContextualFragment", "DOMParser", "javascript:", "style=",
                "https://", "//cdn",
            ] { #expect(!text.contains(word), "\(name) has \(word)") }
            let addresses = text.replacing("http://www.w3.org/2000/svg", with: "")
            #expect(!addresses.contains("http://"), "\(name) asks elsewhere")
        }
    }

    @Test func `a file of a record is to be kept, and never shown as what it says it is`()
        async throws
    {
        try fixture.fill()
        let store = try fixture.open()
        let svg = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
        let asset = try await store.assets.add(contentType: "image/svg+xml") {
            try $0.write(Array(svg.utf8))
        }
        store.close()
        let server = try StudioProcess(fixture)
        try server.signIn()
        let content = try #require(asset.content)
        let reply = try server.send("GET", "/api/1/file?content=\(content)", server.own)
        #expect(reply.status == 200 && reply.body == Array(svg.utf8))
        #expect(reply.headers["content-type"] == "application/octet-stream")
        #expect(reply.headers["content-disposition"] == "attachment")
        #expect(reply.headers["x-content-type-options"] == "nosniff")
        #expect(try server.send("GET", "/api/1/file?content=\(content)").status == 401)
        for bad in [
            "content=" + String(repeating: "0", count: 64), "content=..%2f..%2fdata.mdb",
            "content=%2fetc%2fpasswd", "checksum=..%2f..", "content=", "",
        ] {
            let answer = try server.send("GET", "/api/1/file?" + bad, server.own)
            #expect(answer.status == 404, "\(bad)")
        }
    }

    @Test func `large values are cut, and an answer with many stays small`() throws {
        let store = try fixture.open()
        let large = String(repeating: "<b>\u{1F980}&", count: 100_000)
        try store.write { transaction in
            for number in 0..<60 {
                _ = try transaction.save(
                    StoredNote(
                        id: StoredNote.ID(key: RecordKey(RecordName("n\(number)"))),
                        title: "\(number) " + large, stars: number, body: Data(count: 1 << 20)))
            }
        }
        store.close()
        let server = try StudioProcess(fixture)
        try server.signIn()
        let before = try Self.memory(of: server.child.identifier)
        for call in [
            "records?entity=Note", "records?entity=Note&sort=-stars", "log",
            "records?entity=Note&scan=1",
            "history?entity=Note&record=n1", "records?entity=Note&sort=title&scan=1",
        ] {
            let reply = try server.send("GET", "/api/1/" + call, server.own)
            #expect(reply.status == 200)
            #expect(reply.body.count < 6 << 20, "\(call) \(reply.body.count)")
            let text = String(decoding: reply.body, as: UTF8.self)
            #expect(text.contains("bytes: the command 'export' has all)"), "\(call)")
        }
        // What is downloaded is whole, in pages that are no larger.
        var (names, after): (Set<String>, String?) = ([], "")
        while let cursor = after {
            let reply = try server.read("records?entity=Note&whole=1&after=\(cursor)")
            let page = try #require(reply.body as? [String: Any])
            let records = page["records"] as? [[String: Any]] ?? []
            #expect(!records.isEmpty && records.count < 30)
            for record in records {
                names.insert(record["record"] as? String ?? "")
                let values = record["values"] as? [String: [String: Any]] ?? [:]
                #expect((values["title"]?["string"] as? String)?.hasSuffix(large) == true)
            }
            after = (page["next"] as? String)?
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        }
        #expect(names.count == 60)
        let after2 = try Self.memory(of: server.child.identifier)
        #expect(after2 - before < 64 << 10, "\(after2 - before) KiB more")
    }

    /// The private memory of a process in KiB, without what is mapped from files.
    private static func memory(of process: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
        return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) })
    }

    @Test func `a store that is replaced or removed is not shown any more`() throws {
        try fixture.fill()
        let server = try StudioProcess(fixture)
        try server.signIn()
        #expect(try server.read("entities").status == 200)
        let waiting = try RawConnection(url: server.origin)
        waiting.send(
            Array(
                ("GET /api/1/changes?after=3 HTTP/1.1\r\nHost: \(server.host)\r\n"
                    + "Origin: \(server.origin)\r\nCookie: \(server.cookie)\r\n\r\n").utf8))
        try FileManager.default.moveItem(atPath: fixture.path, toPath: fixture.root + "/moved")
        #expect(try #require(waiting.reply()).status == 410)
        #expect(try server.read("entities").status == 410)
        try fixture.fill(5)
        let answer = try server.read("count?entity=Note")
        #expect(answer.status == 410)
        #expect(((answer.body as? [String: Any])?["error"] as? String)?.contains("Start") == true)
        server.child.send(SIGTERM)
        #expect(try server.child.wait() == .exit(code: 0))
    }

    @Test func `a compaction goes on beside an open page, which shows what is left`() throws {
        try fixture.fill(200)
        let server = try StudioProcess(fixture)
        try server.signIn()
        #expect(try Runner.run("compact", fixture.path, "--json").code == 0)
        let count = try #require(try server.read("count?entity=Note").body as? [String: Any])
        #expect(count["count"] as? Int == 200)
        #expect(try server.read("log").status == 200)
        #expect(try server.read("history?entity=Note&record=n3").status == 200)
    }

    @Test func `calls with odd parameters are answered with words`() throws {
        try fixture.fill(3)
        let server = try StudioProcess(fixture, "--allow-writes")
        try server.signIn()
        let long = String(repeating: "(", count: 3_000)
        for call in [
            "records?entity=Note&scan=1&through=%21",
            "records?entity=Note&scan=1&sort=title&place=x",
            "records?entity=Note&scan=1&sort=title&place=abc",
            "records?entity=Note&where=\(long)",
            "count?entity=Note&where=stars&through=AA", "record?entity=None&record=x", "find",
            "records?entity=Note&sort=nothing", "history?entity=None&record=x",
            "explain?entity=Note&where=%00", "log?limit=999999999999999999999",
        ] {
            let answer = try server.read(call)
            #expect((400..<500).contains(answer.status), "\(call) \(answer.status)")
            #expect(((answer.body as? [String: Any])?["error"] as? String)?.isEmpty == false)
        }
        let bodies = [
            "[]", "null", "{", #"{"confirm":"store"}"#, #"{"a":{}}"#,
            String(repeating: #"{"a":"#, count: 10_000),
        ]
        for body in bodies {
            for call in ["records/edit", "searches/save", "conflicts/undo", "jobs"] {
                let status = try server.act(call, body).status
                #expect((400..<500).contains(status), "\(call) \(body.prefix(20))")
            }
        }
        #expect(try server.read("entities").status == 200)
    }
}
