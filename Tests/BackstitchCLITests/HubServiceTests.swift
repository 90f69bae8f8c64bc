import Backstitch
import ChildProcess
import CloudKitRecordService
import Foundation
import Glibc
import RawConnection
import Terminal
import TestBudget
import Testing
import Threading
import Waiting

@testable import BackstitchCLI

/// The life of a hub's process: what it tells its service manager, its logs, and signals.
@Suite(.budgeted) struct HubServiceTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    // MARK: The service manager

    @Test func `the name of a socket is a path, or has a zero byte in front`() {
        #expect(ServiceManager.name("/run/notify") == Array("/run/notify".utf8))
        #expect(ServiceManager.name("@a/b") == [0] + Array("a/b".utf8))
        for text in ["", "/", "@", "vsock:2:1", "run/notify"] {
            #expect(ServiceManager.name(text) == nil, "\(text)")
        }
        let long = "/" + String(repeating: "a", count: 106)
        #expect(ServiceManager.name(long)?.count == 107)
        #expect(ServiceManager.name(long + "a") == nil)
    }

    @Test func `a watchdog is minded if it is this process's`() {
        func watchdog(_ variables: [String: String]) -> UInt64? {
            ServiceManager(variables: variables, process: 7).watchdogMicroseconds
        }
        #expect(watchdog([:]) == nil)
        #expect(watchdog(["WATCHDOG_USEC": "30000000"]) == 30_000_000)
        #expect(watchdog(["WATCHDOG_USEC": "5", "WATCHDOG_PID": "7"]) == 5)
        #expect(watchdog(["WATCHDOG_USEC": "5", "WATCHDOG_PID": "8"]) == nil)
        #expect(watchdog(["WATCHDOG_USEC": "0"]) == nil && watchdog(["WATCHDOG_USEC": "x"]) == nil)
    }

    /// A socket as systemd gives one.
    private struct NotifySocket: ~Copyable {
        let descriptor: Int32

        init(_ name: [UInt8]) {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let count = socklen_t(2 + name.count + (name[0] == 0 ? 0 : 1))
            let status = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, count) }
            }
            #expect(status == 0)
        }

        deinit { close(descriptor) }

        /// The next datagram.
        func next() -> String { receive(0) ?? "" }

        /// The next datagram that has come already; nil if there is none.
        func waiting() -> String? { receive(Int32(MSG_DONTWAIT)) }

        private func receive(_ flags: Int32) -> String? {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &bytes, bytes.count, flags)
            return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
        }

        /// The first datagram that begins with a text, after those that don't.
        func next(_ start: String) -> String {
            while true {
                let text = next()
                if text.isEmpty || text.hasPrefix(start) { return text }
            }
        }
    }

    @Test(arguments: [false, true])
    func `the service manager hears of the start, of work, of a reload and of the end`(
        isAbstract: Bool
    ) throws {
        let text = isAbstract ? "@backstitch-\(UUID().uuidString)" : fixture.root + "/notify"
        let socket = NotifySocket(try #require(ServiceManager.name(text)))
        let child = try Runner.start(
            ["hub", "--data", fixture.root + "/hub", "--listen", "127.0.0.1:0"],
            through: ["/usr/bin/env", "NOTIFY_SOCKET=\(text)", "WATCHDOG_USEC=3000000"])
        let line = String(decoding: child.output.availableData, as: UTF8.self)
        let url = try #require(line.split(separator: " ").last.map { $0.dropLast() })
        let ready = socket.next()
        #expect(ready.hasPrefix("READY=1\nSTATUS=Listening at \(url);"), "\(ready)")
        for _ in 0..<3 { #expect(socket.next() == "WATCHDOG=1") }
        child.send(SIGHUP)
        #expect(socket.next("RELOADING=1").hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        // Work may be told in between.
        #expect(socket.next("READY=1") == "READY=1")
        child.send(SIGTERM)
        #expect(socket.next("STOPPING=1") == "STOPPING=1")
        #expect(try child.wait() == .exit(code: 0))
    }

    @Test
    func `a process that hangs says nothing`() throws {
        let name = "@backstitch-\(UUID().uuidString)"
        let socket = NotifySocket(try #require(ServiceManager.name(name)))
        let child = try Runner.start(
            ["hub", "--data", fixture.root + "/hub", "--listen", "127.0.0.1:0"],
            through: ["/usr/bin/env", "NOTIFY_SOCKET=\(name)", "WATCHDOG_USEC=600000"])
        _ = child.output.availableData
        #expect(socket.next("WATCHDOG=1") == "WATCHDOG=1")
        child.send(SIGSTOP)
        child.waitForStop()
        // All that it said has come, and then there is nothing.
        while socket.waiting() != nil {}
        #expect(socket.waiting() == nil)
        child.send(SIGCONT)
        #expect(socket.next("WATCHDOG=1") == "WATCHDOG=1")
        child.send(SIGTERM)
        #expect(try child.wait() == .exit(code: 0))
    }

    // MARK: Logs and certificates

    private static func makeCertificate(_ name: String, in folder: String) throws {
        let process = try ChildProcess([
            "/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", "/CN=\(name)", "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem",
        ])
        _ = process.complaint.readDataToEndOfFile()
        #expect(try process.wait() == .exit(code: 0))
    }

    /// The lines of a file, as soon as one of them has a text.
    private func lines(_ path: String, until text: String) -> [Substring] {
        var lines: [Substring] = []
        blockUntil {
            let content = try? String(contentsOfFile: path, encoding: .utf8)
            lines = content?.split(separator: "\n") ?? []
            return lines.contains { $0.contains(text) }
        }
        return lines
    }

    @Test(
        .enabled(if: access("/usr/bin/openssl", X_OK) == 0, "openssl is missing"))
    func `a hang-up has logs opened anew and the certificate read, and a bad one is refused`()
        throws
    {
        try Self.makeCertificate("first", in: fixture.root)
        let (audit, configuration) = (fixture.root + "/audit.log", fixture.root + "/hub.conf")
        try """
        [server]
        listen = 127.0.0.1:0
        [tls]
        tls-cert = \(fixture.root)/cert.pem
        tls-key = credential:key.pem
        [storage]
        data = \(fixture.root)/hub
        [logs]
        audit-log = \(audit)
        """.write(toFile: configuration, atomically: true, encoding: .utf8)
        let child = try Runner.start(
            ["hub", "serve", "--config", configuration],
            through: ["/usr/bin/env", "CREDENTIALS_DIRECTORY=\(fixture.root)"])
        let listening = String(decoding: child.output.availableData, as: UTF8.self)
        #expect(listening.contains("https://"), "\(listening)")
        #expect(lines(audit, until: #""event":"started""#).count == 1)
        let moved = fixture.root + "/audit.log.1"
        try FileManager.default.moveItem(atPath: audit, toPath: moved)
        try Self.makeCertificate("second", in: fixture.root)
        child.send(SIGHUP)
        #expect(lines(audit, until: #""event":"certificateReplaced""#).count == 1)
        try "none".write(toFile: fixture.root + "/key.pem", atomically: true, encoding: .utf8)
        child.send(SIGHUP)
        #expect(lines(audit, until: #""event":"certificateRefused""#).count == 2)
        // Commands beside the service write there too, and no secret.
        let user = try Runner.run("hub", "user", "--config", configuration, "--user", "Ada")
        #expect(user.code == 0)
        let signedIn = try #require(lines(audit, until: "userSignedIn").last)
        let document = try JSON.value(HubDocument.User.self, Array(user.output.utf8))
        #expect(signedIn.contains(document.userRecordName))
        #expect(!signedIn.contains(document.webAuthToken) && !signedIn.contains("Ada"))
        child.send(SIGTERM)
        let complaints = String(
            decoding: child.complaint.readDataToEndOfFile(), as: UTF8.self)
        #expect(try child.wait() == .exit(code: 0))
        #expect(complaints.contains(#""level":"info","message":"The certificate was read anew"#))
        #expect(complaints.contains(#""level":"error","message":"The old certificate stays."#))
        #expect(lines(audit, until: #""event":"stopped""#).count == 4)
        #expect(try String(contentsOfFile: moved, encoding: .utf8).contains("started"))
    }

    @Test func `a log that can't be written is told once, and nothing else stops`() throws {
        let (read, write) = (Pipe(), Pipe())
        let console = Console(
            output: read.fileHandleForWriting.fileDescriptor,
            complaints: write.fileHandleForWriting.fileDescriptor)
        let log = try LogFile("/dev/full", of: HubCommand.auditLog, console)
        for _ in 0..<3 { log.add("line") }
        try write.fileHandleForWriting.close()
        let said = String(
            decoding: write.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(said.split(separator: "\n").count == 1, "\(said)")
        #expect(said.contains("'/dev/full' can't be written: No space left"))
        let none = #expect(throws: Refusal.self) {
            try LogFile("/nowhere/log", of: HubCommand.auditLog, console)
        }
        #expect(none?.description.contains("Check --audit-log.") == true)
    }

    @Test func `a log goes on in a new file after the old one was moved`() throws {
        let path = fixture.root + "/log"
        let log = try LogFile(path, of: HubCommand.accessLog, Console())
        log.add("one")
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        log.add("two")
        try log.reopen()
        log.add("three")
        #expect(try String(contentsOfFile: path + ".1", encoding: .utf8) == "one\ntwo\n")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "three\n")
    }

    // MARK: Figures and traces

    @Test func `metrics have an address of their own, and requests are in the access log`()
        async throws
    {
        let log = fixture.root + "/access.log"
        let hub = try KillableHub(
            folder: fixture.root + "/hub",
            options: ["--metrics-listen", "127.0.0.1:0", "--access-log", log])
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        var configuration = CloudKitConfiguration(
            url: try #require(URL(string: hub.document.url)), container: hub.document.container,
            credentials: .user(
                apiToken: hub.document.apiToken,
                webAuthToken: WebAuthToken(hub.document.users[0].webAuthToken)))
        configuration.timeout = .seconds(3_600)
        configuration.traceParent = { trace }
        _ = try await CloudKitRecordService(configuration).databaseChanges(since: nil)
        configuration.traceParent = { "no trace\r\nX-Other: 1" }
        _ = try await CloudKitRecordService(configuration).databaseChanges(since: nil)
        let told = lines(log, until: "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(told.contains { $0.contains(hub.document.users[0].userRecordName) })
        let url = try #require(hub.document.metricsURL)
        let connection = try RawConnection(url: String(url.dropLast("/metrics".count)))
        connection.send(
            Array("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        let page = String(decoding: connection.rest(), as: UTF8.self)
        for name in [
            "backstitch_hub_storage_bytes ", "backstitch_hub_storage_available_bytes ",
            "process_resident_memory_bytes ", "process_open_fds ",
        ] {
            #expect(page.contains("\n\(name)"), "\(name)")
        }
        #expect(try hub.stop() == .exit(code: 0))
        let all = try String(contentsOfFile: log, encoding: .utf8)
        #expect(!all.contains(hub.document.apiToken))
        #expect(!all.contains(hub.document.users[0].webAuthToken) && !all.contains("no trace"))
    }
}
