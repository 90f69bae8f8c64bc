import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

/// Records of zones beside the store's own, as the commands show them.
@Suite(.budgeted) struct ZoneOptionTests {
    private let fixture: StoreFixture

    /// A store with a note `n` in its own zone, in a list of the user and in one of Ada.
    init() async throws {
        fixture = try StoreFixture()
        let store = try fixture.open()
        defer { store.close() }
        try store.save("n", "own")
        for (owner, title) in [(nil, "mine"), ("ada", "hers")] as [(String?, String)] {
            let slot = try await store.withLogWriter {
                $0.catalogChanges.addZone(
                    named: "list", owner: owner, in: owner == nil ? .private : .shared)
            }
            let zone = RecordID.Zone(slot: try #require(slot))
            try await store.write {
                _ = try $0.save(StoredNote(id: .init("n", in: zone), title: title, stars: 1))
            }
        }
    }

    private func output(_ words: String...) throws -> String {
        let result = try Runner.run(words)
        #expect(result.code == 0, "\(result.complaint)")
        return result.output
    }

    @Test func `a query shows the names of zones, and asks for one`() throws {
        let columns = ["--select", "title", "--json"]
        let all = try Runner.run(["query", fixture.path, "Note"] + columns)
        #expect(
            all.output == """
                {"record":"n","values":{"title":{"string":"own"}}}
                {"record":"n","values":{"title":{"string":"mine"}},"zone":"list"}
                {"owner":"ada","record":"n","values":{"title":{"string":"hers"}},"zone":"list"}

                """)
        let mine = try Runner.run(["query", fixture.path, "Note", "--zone", "list"] + columns)
        #expect(mine.output == "\(all.output.split(separator: "\n")[1])\n")
        let hers = try output(
            "query", fixture.path, "Note", "--zone", "list", "--owner", "ada", "--select", "title")
        #expect(hers.contains("list of ada/n") && hers.contains("hers") && !hers.contains("own"))
        let counted = try output("query", fixture.path, "Note", "--zone", "list", "--count")
        #expect(counted == "1\n")
    }

    @Test func `a zone that is not there is refused with those that are`() throws {
        let other = try Runner.run("query", fixture.path, "Note", "--zone", "other")
        #expect(other.code != 0)
        #expect(other.complaint.contains("has no zone 'other'. It has: list, list of ada."))
        let alone = try Runner.run("query", fixture.path, "Note", "--owner", "ada")
        #expect(alone.code != 0 && alone.complaint.contains("needs the zone's name"))
    }

    @Test func `operations and conflicts are those of a zone`() throws {
        let all = try output("log", fixture.path, "--json")
        let lines = all.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.map { $0.contains("\"zone\":\"list\"") } == [false, true, true])
        #expect(lines.map { $0.contains("\"owner\":\"ada\"") } == [false, false, true])
        #expect(lines.allSatisfy { $0.contains("\"record\":\"n\"") })
        let own = try output("log", fixture.path, "--record", "n", "--json")
        #expect(own == "\(lines[0])\n")
        let mine = try output("log", fixture.path, "--zone", "list", "--json")
        #expect(mine == "\(lines[1])\n")
        let hers = try output(
            "log", fixture.path, "--record", "n", "--zone", "list", "--owner", "ada", "--last", "1")
        #expect(hers.contains("Note  list of ada/n"))
        let conflicts = try output("conflicts", fixture.path, "--zone", "list")
        #expect(conflicts == "No conflicts.\n")
    }

    @Test func `an export writes the records of a zone, and its operations`() throws {
        let records = try output("export", fixture.path, "--zone", "list", "--owner", "ada")
        #expect(records.split(separator: "\n").count == 1 && records.contains("hers"))
        let operations = try output("export", fixture.path, "--zone", "list", "--log")
        #expect(operations.split(separator: "\n").count == 1 && operations.contains("mine"))
        #expect(try output("export", fixture.path).split(separator: "\n").count == 3)
    }

    @Test func `Studio's calls name a zone as the commands do`() throws {
        let server = try StudioProcess(fixture)
        try server.signIn()
        func objects(_ call: String, _ member: String) throws -> [[String: Any]] {
            let body = try #require(try server.read(call).body as? [String: Any])
            return body[member] as? [[String: Any]] ?? []
        }
        let all = try objects("records?entity=Note", "records")
        #expect(all.map { $0["zone"] as? String } == [nil, "list", "list"])
        #expect(all.map { $0["owner"] as? String } == [nil, nil, "ada"])
        let mine = try objects("records?entity=Note&zone=list", "records")
        #expect(mine.count == 1 && mine[0]["owner"] == nil)
        let count = try server.read("count?entity=Note&zone=list").body as? [String: Any]
        #expect(count?["count"] as? Int == 1)
        let log = try objects("log?record=n&zone=list&owner=ada", "operations")
        #expect(log.map { $0["sequence"] as? Int } == [3])
        let history = try server.read("history?entity=Note&record=n&zone=list").body
        #expect((history as? [[String: Any]])?.map { $0["sequence"] as? Int } == [2])
        let pending = try objects("outbox", "pending")
        #expect(pending.map { $0["zone"] as? String } == [nil, "list", "list"])
        #expect(pending.allSatisfy { $0["record"] as? String == "n" })
        #expect(try server.read("records?entity=Note&zone=other").status >= 400)
    }

    @Test func `inspect tells what each zone has`() throws {
        let text = try output("inspect", fixture.path)
        #expect(text.contains("list of ada"))
        struct Document: Decodable {
            struct Zone: Decodable {
                let name: String
                let owner: String?
                let database: String
                let records: Int
                let pendingRecords: Int
                let parkedRecords: Int
            }

            let zones: [Zone]
        }
        let json = try output("inspect", fixture.path, "--json")
        let zones = try JSONDecoder().decode(Document.self, from: Data(json.utf8)).zones
        #expect(zones.map(\.name) == ["list", "list"])
        #expect(zones.map(\.owner) == [nil, "ada"])
        #expect(zones.map(\.database) == ["private", "shared"])
        #expect(zones.map(\.records) == [1, 1] && zones.map(\.pendingRecords) == [1, 1])
        #expect(zones.map(\.parkedRecords) == [0, 0])
    }
}
