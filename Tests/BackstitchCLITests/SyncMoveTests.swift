import Backstitch
import BackstitchCore
import ChildProcess
import CloudKitRecordService
import Foundation
import Glibc
import TestBudget
import Testing

@testable import BackstitchCLI

/// `backstitch sync` and the zone and user that a store belongs to.
@Suite(.budgeted) struct SyncMoveTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func arguments(_ hub: KillableHub, user: Int = 0, _ more: String...) throws -> [String]
    {
        let tokenPath = fixture.root + "/token-\(user)"
        try hub.document.users[user].webAuthToken.write(
            toFile: tokenPath, atomically: true, encoding: .utf8)
        return [
            "sync", fixture.path, "--url", hub.document.url, "--container",
            hub.document.container, "--api-token", hub.document.apiToken, "--web-token-file",
            tokenPath,
        ] + more
    }

    private func names(_ hub: KillableHub, user: Int = 0, in zone: String) async throws -> [String]
    {
        let page = try await hub.service(user: user).zoneChanges(
            in: ZoneID(zone), since: nil, limit: 100, fields: nil)
        return page.records.map(\.recordName).sorted()
    }

    @Test func `a store goes to another zone when it is told to, and then to another user`()
        async throws
    {
        let hub = try KillableHub(folder: fixture.root + "/hub")
        try fixture.fill(3)
        #expect(try Runner.run(arguments(hub, "--zone", "Notes")).code == 0)
        let records = try await names(hub, in: "Notes")
        let typo = try Runner.run(arguments(hub, "--zone", "Note"))
        #expect(typo.code == 2)
        #expect(typo.complaint.contains("'Notes'") && typo.complaint.contains("--move-to-zone"))
        let moved = try Runner.run(arguments(hub, "--move-to-zone", "Next", "--json"))
        #expect(moved.code == 0 && moved.complaint == "")
        #expect(moved.output.contains(#""pushed":3"#) && moved.output.contains(#""pending":0"#))
        #expect(try await names(hub, in: "Next") == records)
        #expect(try await names(hub, in: "Notes") == records)
        #expect(try Runner.run(arguments(hub, "--zone", "Notes")).code == 2)
        let again = try Runner.run(arguments(hub, "--move-to-zone", "Next", "--json"))
        #expect(again.code == 0 && again.output.contains(#""pushed":0"#))
        let stranger = try Runner.run(arguments(hub, user: 1, "--zone", "Next"))
        #expect(stranger.code == 2 && stranger.complaint.contains("another user"))
        let adopted = try Runner.run(arguments(hub, user: 1, "--adopt", "--json"))
        #expect(adopted.code == 0 && adopted.output.contains(#""pushed":3"#))
        #expect(try await names(hub, user: 1, in: "Next") == records)
        #expect(try await names(hub, in: "Next") == records)
        #expect(try hub.stop() == .exit(code: 0))
    }

    @Test func `following tries again if its first round can't reach the service`() async throws {
        let hub = try KillableHub(folder: fixture.root + "/hub")
        try fixture.fill(3)
        try hub.killForGood()
        let child = try Runner.start(arguments(hub, "--zone", "Notes", "--follow", "--json"))
        #expect(line(child.complaint).contains("unreachable"))
        try hub.restart()
        #expect(line(child.output).contains(#""pending":0"#))
        #expect(try await names(hub, in: "Notes").count == 3)
        child.send(SIGTERM)
        #expect(try child.wait() == .exit(code: 0))
        #expect(try hub.stop() == .exit(code: 0))
    }

    /// Reads up to the end of a line.
    private func line(_ handle: FileHandle) -> String {
        var bytes: [UInt8] = []
        while let byte = handle.readData(ofLength: 1).first, byte != 10 { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `without following a service that can't be reached ends it`() throws {
        let hub = try KillableHub(folder: fixture.root + "/hub")
        try fixture.fill(1)
        try hub.killForGood()
        let result = try Runner.run(arguments(hub, "--zone", "Notes"))
        #expect(result.code == 2 && result.complaint.contains("unreachable"))
    }

    @Test(arguments: [
        ("--url", "ftp://x", "https://"), ("--url", "localhost", "https://"),
        ("--container", "a/b", "container"), ("--container", "", "container"),
        ("--environment", "test", "development"),
    ])
    func `a service that can't be meant is refused before anything is asked`(
        option: String, value: String, part: String
    ) throws {
        try fixture.fill(1)
        let token = fixture.root + "/token"
        try "t".write(toFile: token, atomically: true, encoding: .utf8)
        let result = try Runner.run([
            "sync", fixture.path, "--zone", "Notes", "--api-token", "t", "--web-token-file", token,
            option, value,
        ])
        #expect(result.code == 2)
        #expect(result.complaint.contains(part) && !result.complaint.contains("unreachable"))
    }

    @Test func `a zone that can't be is refused before anything is asked`() throws {
        try fixture.fill(1)
        let token = fixture.root + "/token"
        try "t".write(toFile: token, atomically: true, encoding: .utf8)
        for option in ["--zone", "--move-to-zone"] {
            let result = try Runner.run([
                "sync", fixture.path, option, "_x y", "--url", "http://127.0.0.1:1", "--api-token",
                "t", "--web-token-file", token,
            ])
            #expect(result.code == 2)
            #expect(result.complaint.contains("invalidConfiguration"))
        }
    }
}
