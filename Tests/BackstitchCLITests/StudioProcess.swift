import ChildProcess
import Foundation
import Glibc
import RawConnection
import Testing

/// The command, serving the store of a fixture.
final class StudioProcess {
    let child: ChildProcess
    let origin: String
    let token: String
    /// Where it listens; nil for a port.
    let socket: String?
    var cookie = ""
    var secret = ""

    convenience init(_ fixture: StoreFixture, _ options: String...) throws {
        try self.init(path: fixture.path, options)
    }

    init(path: String, _ options: [String] = [], socket: String? = nil) throws {
        self.socket = socket
        let options = options + (socket.map { ["--unix-socket", $0] } ?? [])
        // What the user keeps is beside the store of a test, and not the user's own.
        child = try Runner.start(
            ["studio", path, "--json"] + options,
            through: ["/usr/bin/env", "XDG_STATE_HOME=\(path)-state"])
        var line: [UInt8] = []
        while let byte = child.output.readData(ofLength: 1).first, byte != 10 {
            line.append(byte)
        }
        let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: String]
        let parts = try #require(object?["url"]?.components(separatedBy: "/#token="))
        (origin, token) = (parts[0], parts[1])
    }

    deinit {
        child.send(SIGKILL)
        // A child that nobody waited for would hide those of exit tests from their monitor.
        _ = try? child.wait()
    }

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
        let connection =
            try socket.map { try RawConnection(path: $0) } ?? RawConnection(url: origin)
        connection.send(
            Array("\(method) \(target) HTTP/1.1\r\n\(lines.joined())\r\n\(body)".utf8))
        let reply = connection.reply()
        return try #require(
            reply,
            """
            \(method) \(target): nothing came, error \(connection.failure); of the process: \
            \(child.state)
            """)
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
