import Backstitch
import BackstitchCore
import BackstitchTesting
import Foundation
import RawConnection
import TestBudget
import Testing

@Entity("Task") struct StudioTask {
    var id = ID()
    @Relationship(onDelete: .deny) var note: StoredNote.ID?
}

/// Asks the server of Studio what its page asks.
@Suite(.budgeted) struct StudioCallTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test func `records come in pages with the condition and the order that were asked for`() throws
    {
        try fixture.fill(5)
        let server = try StudioProcess(fixture)
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
        let server = try StudioProcess(fixture)
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
        let server = try StudioProcess(fixture)
        try server.signIn()
        let connection = try RawConnection(url: server.origin)
        connection.send(
            Array(
                ("GET /api/1/changes?after=2 HTTP/1.1\r\nHost: \(server.host)\r\n"
                    + "Origin: \(server.origin)\r\nCookie: \(server.cookie)\r\n\r\n").utf8))
        // A server that does not wait is found out if it answers within this moment.
        #expect(!connection.hasNews(milliseconds: 300))
        let store = try fixture.open()
        try store.save("more", "More")
        store.close()
        let reply = try #require(connection.reply())
        #expect(String(decoding: reply.body, as: UTF8.self) == #"{"engine":0,"lastSequence":3}"#)
    }

    @Test(arguments: ["parked/retry", "parked/discard"])
    func `what the service refused is listed with its words, tried again or discarded`(
        call: String
    ) async throws {
        let cloud = SimulatedCloud()
        let store = try Store(
            at: fixture.path, schema: StoreSchema(StoredNote.self, StudioTask.self),
            configuration: StoreConfiguration(author: "test", bytesMax: 1 << 30))
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        try await store.write { transaction in
            _ = try transaction.save(
                StudioTask(
                    id: StudioTask.ID(key: RecordKey(RecordName("t"))),
                    note: StoredNote.ID(key: RecordKey(RecordName("nowhere")))))
        }
        try await engine.sync()
        await engine.stop()
        store.close()
        let server = try StudioProcess(fixture, "--allow-writes")
        try server.signIn()
        let box = try #require(try server.read("outbox").body as? [String: Any])
        let parked = try #require((box["parked"] as? [[String: Any]])?.first)
        #expect(parked["record"] as? String == "t")
        #expect(parked["code"] as? String == "referenceViolation")
        #expect((parked["message"] as? String)?.isEmpty == false)
        let members = #"{"entity":"Task","record":"t","confirm":"store"}"#
        let reply = try server.act(call, members)
        #expect(String(decoding: reply.body, as: UTF8.self) == #"{"changed":true}"#)
        let after = try #require(try server.read("outbox").body as? [String: Any])
        #expect((after["parked"] as? [Any])?.isEmpty == true)
        #expect((after["pending"] as? [Any])?.count == (call == "parked/retry" ? 1 : 0))
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
        let server = try StudioProcess(fixture, "--allow-writes")
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
        let server = try StudioProcess(fixture)
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

    @Test func `work that is stopped ends`() throws {
        try fixture.fill(2_000)
        let server = try StudioProcess(fixture)
        try server.signIn()
        #expect(try server.act("jobs", #"{"kind":"verify"}"#).status == 200)
        #expect(try server.act("jobs", #"{"kind":"doctor"}"#).status == 409, "one at a time")
        #expect(try server.act("jobs/stop", "{}").status == 200)
        var status: [String: Any] = ["running": true]
        while status["running"] as? Bool == true {
            status = try #require(try server.read("jobs").body as? [String: Any])
        }
        #expect(status["stopped"] as? Bool == true)
        #expect((status["result"] as? String)?.isEmpty == true)
    }
}
