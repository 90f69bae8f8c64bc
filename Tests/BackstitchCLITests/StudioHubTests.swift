import Backstitch
import BackstitchHub
import ChildProcess
import Foundation
import RawConnection
import TestBudget
import Testing

@testable import BackstitchCLI

/// Asks the server of Studio over a hub's folder what its page asks.
@Suite(.budgeted) struct StudioHubTests {
    let fixture: StoreFixture
    private var folder: String { fixture.root + "/hub" }
    private let container = "iCloud.studio"

    init() throws { fixture = try StoreFixture() }

    /// Makes a hub with users in a folder.
    ///
    /// - Returns: The secrets that were told.
    private func fill(users: Int) async throws -> [String] {
        let hub = try await Hub(at: folder)
        defer { hub.close() }
        try await hub.accounts.makeContainer(container, environment: "production")
        var secrets = [
            try await hub.accounts.makeAPIToken(
                container, environment: "production", label: "app")
        ]
        // Those that come at once share the syncs of the disk.
        try await withThrowingTaskGroup(of: String.self) { [container] group in
            for number in 0..<users {
                group.addTask {
                    try await hub.accounts.signIn(
                        "user \(number)", container: container, environment: "production"
                    ).webAuthToken
                }
            }
            for try await secret in group { secrets.append(secret) }
        }
        return secrets
    }

    private func object(_ server: StudioProcess, _ call: String) throws -> [String: Any] {
        let answer = try server.read(call)
        #expect(answer.status == 200)
        return try #require(answer.body as? [String: Any])
    }

    private func rows(_ object: [String: Any]) -> [[String: Any]] {
        object["rows"] as? [[String: Any]] ?? []
    }

    @Test func `users, credentials and containers come in pages, without secrets`() async throws {
        let secrets = try await fill(users: 101)
        let server = try StudioProcess(path: folder)
        #expect(try server.send("GET", "/api/1/entities").status == 401)
        try server.signIn()
        #expect(try object(server, "session")["kind"] as? String == "hub")
        let overview = try object(server, "hub")
        let containers = try #require(overview["containers"] as? [[String: Any]])
        #expect(containers.map { $0["users"] as? Int } == [101])
        #expect(overview["sessions"] as? Int == 101 && overview["served"] as? Bool == false)
        var names: Set<String> = []
        var after = ""
        var texts = ""
        repeat {
            let page = try object(server, "users?after=" + after)
            texts += "\(page)"
            for row in rows(page) {
                names.insert(((row["user"] as? [String: Any])?["name"] as? String) ?? "")
            }
            after =
                (page["next"] as? String)?.addingPercentEncoding(
                    withAllowedCharacters: .alphanumerics) ?? ""
        } while !after.isEmpty
        #expect(names == Set((0..<101).map { "user \($0)" }))
        #expect(rows(try object(server, "users?name=user%207")).count == 1)
        #expect(rows(try object(server, "tokens")).compactMap { $0["label"] as? String } == ["app"])
        let sessions = try object(server, "sessions")
        #expect(rows(sessions).count == 100 && sessions["next"] != nil)
        texts += "\(sessions)\(try object(server, "tokens"))"
        for secret in secrets { #expect(!texts.contains(secret)) }
        for bad in ["users?after=~", "users?container=none&environment=production", "records"] {
            let answer = try server.read(bad)
            #expect(answer.status == 400 || answer.status == 404)
            #expect(((answer.body as? [String: Any])?["error"] as? String)?.isEmpty == false)
        }
    }

    @Test func `a credential is revoked only with leave and the name of the hub`() async throws {
        _ = try await fill(users: 2)
        for (options, confirm, status) in [
            ([], "hub", 403), (["--allow-writes"], "other", 409), (["--allow-writes"], "hub", 200),
        ] {
            let server = try StudioProcess(path: folder, options)
            try server.signIn()
            let id = try #require(rows(try object(server, "sessions")).first?["id"] as? String)
            let reply = try server.act(
                "credentials/revoke", #"{"id":"\#(id)","confirm":"\#(confirm)"}"#)
            #expect(reply.status == status)
            let left = rows(try object(server, "sessions")).count
            #expect(left == (status == 200 ? 1 : 2))
            if status == 200 {
                let line = String(
                    decoding: server.child.complaint.availableData, as: UTF8.self)
                #expect(line.contains("credentialRevoked") && line.contains(container))
            }
            let nothing = try server.act("users/remove", #"{"confirm":"hub"}"#)
            #expect(nothing.status == (options.isEmpty ? 403 : 404))
        }
    }

    @Test func `a hub that serves is seen at work: databases, zones, and news`() async throws {
        let hub = try KillableHub(folder: folder)
        let server = try StudioProcess(path: folder)
        try server.signIn()
        #expect(try object(server, "hub")["served"] as? Bool == true)
        let before = try object(server, "changes?after=0&engine=0")
        let store = try fixture.open()
        defer { store.close() }
        try store.save("n1", "in a zone")
        let service = try hub.service()
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: "Seen", syncOnSave: false))
        try await engine.sync()
        await engine.stop()
        let known = (before["lastSequence"] as? NSNumber)?.stringValue ?? "0"
        let after = try object(server, "changes?after=\(known)&engine=0")
        #expect(after["lastSequence"] as? NSNumber != before["lastSequence"] as? NSNumber)
        let databases = rows(try object(server, "databases"))
        let private1 = try #require(databases.first { $0["user"] as? String == "Ada" })
        #expect((private1["bytes"] as? Int ?? 0) > 0)
        let zones = private1["zones"] as? [[String: Any]] ?? []
        #expect(zones.contains { $0["name"] as? String == "Seen" && $0["changes"] as? Int == 1 })
        #expect(try server.read("requests").status == 200)
        try hub.killForGood()
        #expect(try object(server, "hub")["served"] as? Bool == false)
    }
}
