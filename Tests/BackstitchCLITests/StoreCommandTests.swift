import Backstitch
import BackstitchViews
import Foundation
import Glibc
import LMDB
import Terminal
import TestBudget
import Testing

@Suite(.budgeted) struct StoreCommandTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func object(_ text: some StringProtocol) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(value as? [String: Any])
    }

    private func log(_ options: String...) throws -> [[String: Any]] {
        let result = try Runner.run(["log", fixture.path, "--json"] + options)
        #expect(result.code == 0)
        return try result.output.split(separator: "\n").map { try object($0) }
    }

    @Test func `inspect shows entities, the log and the outbox`() throws {
        try fixture.fill()
        let result = try Runner.run("inspect", fixture.path)
        #expect(result.code == 0)
        #expect(result.complaint.isEmpty)
        #expect(result.output.contains("3 operations, the last is 3"))
        #expect(result.output.contains("3 records to push, with 3 operations"))
        let table = "Entity  Records  Tombstones\nNote          3           0\n"
        #expect(result.output.contains(table))
    }

    @Test func `inspect writes one JSON object with its documented keys`() throws {
        try fixture.fill()
        let document = try object(Runner.run("inspect", fixture.path, "--json").output)
        #expect(
            document.keys.sorted() == [
                "conflicts", "entities", "formatVersion", "incompleteCount", "log", "outbox",
                "parked", "parkedCount",
                "projections", "space", "store", "storeID", "syncs", "undeliveredCount", "zones",
            ])
        #expect(document["syncs"] as? Bool == true)
        #expect(document["store"] as? String == fixture.path)
        let log = document["log"] as? [String: Int]
        #expect(log == ["operations": 3, "lastSequence": 3, "compactedThrough": 0])
        let space = try #require(document["space"] as? [String: Int])
        #expect(
            space.keys.sorted() == [
                "allocatedBytes", "contentBytes", "fileBytes", "freePages", "journalBytes",
                "mapBytes", "pageBytes", "usedPages",
            ])
        #expect(space["allocatedBytes"] ?? 0 > 0)
    }

    @Test func `inspect counts the journal and the files of records`() async throws {
        try fixture.fill(100)
        let store = try fixture.open()
        _ = try await store.assets.add { try $0.write([UInt8](repeating: 7, count: 5_000)) }
        store.close()
        var status = stat()
        #expect(stat(fixture.path + "/journal", &status) == 0)
        let journalBytes = Int(status.st_blocks) * 512
        #expect(journalBytes > 256 << 10)
        let document = try object(Runner.run("inspect", fixture.path, "--json").output)
        let space = try #require(document["space"] as? [String: Int])
        #expect(space["journalBytes"] == journalBytes)
        #expect(space["contentBytes"] == 5_000)
        let sum = journalBytes + 5_000 + (space["allocatedBytes"] ?? 0)
        let text = try Runner.run("inspect", fixture.path).output
        #expect(text.contains(sum.asBytes + " on disk"), "\(text)")
        #expect(text.contains("\(5_000.asBytes) in 1 file"))
    }

    @Test func `inspect shows the views of projections and how far they are`() async throws {
        let notes = GroupedTotals("by stars", of: StoredNote.self, by: \.stars, sum: \.stars)
        try fixture.fill(2)
        let store = try Store(
            at: fixture.path, schema: StoreSchema(StoredNote.self),
            configuration: StoreConfiguration(
                bytesMax: 1 << 30, projections: [notes]))
        try await store.prepareProjections()
        store.close()
        try fixture.fill(1)
        let result = try Runner.run("inspect", fixture.path)
        #expect(result.output.contains("by stars"))
        #expect(result.output.contains("Checkpoint"))
        let document = try object(Runner.run("inspect", fixture.path, "--json").output)
        let views = try #require(document["projections"] as? [[String: Any]])
        #expect(views.first?["name"] as? String == "by stars")
        #expect(views.first?["complete"] as? Bool == true)
        #expect(views.first?["failedAt"] == nil)
    }

    @Test func `log shows operations with their changes`() throws {
        try fixture.fill(1)
        let result = try Runner.run("log", fixture.path)
        #expect(result.code == 0)
        #expect(
            result.output == """
                       1  2023-11-14T22:13:20.123Z  local   insert       Note  n0  by test
                          title  "Note 0"
                          stars  1

                """)
    }

    @Test func `log selects by place, count, record and entity`() throws {
        try fixture.fill(5)
        func sequences(_ documents: [[String: Any]]) -> [Int] {
            documents.compactMap { $0["sequence"] as? Int }
        }
        #expect(sequences(try log()) == [1, 2, 3, 4, 5])
        #expect(sequences(try log("--last", "2")) == [4, 5])
        #expect(sequences(try log("--from=4")) == [4, 5])
        #expect(sequences(try log("--record", "n2")) == [3])
        #expect(sequences(try log("--entity", "Note", "--last", "1")) == [5])
        #expect(sequences(try log("--record", "nobody")) == [])
        let unknown = try Runner.run("log", fixture.path, "--entity", "Nothing")
        #expect(unknown.code == 2)
        #expect(unknown.complaint.contains("It has: Note."))
    }

    @Test func `a long log is written in parts`() throws {
        try fixture.fill(600)
        #expect(try log().count == 600)
    }

    @Test func `log writes changes as tagged values`() throws {
        try fixture.fill(1)
        let first = try #require(try log().first)
        #expect(first["kind"] as? String == "insert")
        #expect(first["date"] as? String == "2023-11-14T22:13:20.123Z")
        #expect(first["record"] as? String == "n0")
        let change = try #require((first["changes"] as? [[String: Any]])?.first)
        #expect(change["attribute"] as? String == "title")
        #expect(change["before"] == nil)
        #expect(change["after"] as? [String: String] == ["string": "Note 0"])
    }

    @Test func `verify and rebuild say that a whole store is whole`() throws {
        try fixture.fill()
        let verified = try Runner.run("verify", fixture.path)
        #expect(verified.code == 0)
        #expect(verified.output.hasPrefix("Consistent: 3 operations, and 6 entries"))
        let document = try object(Runner.run("verify", fixture.path, "--json").output)
        #expect(
            document.keys.sorted() == [
                "consistent", "entries", "logDamaged", "operations", "problems", "store",
                "uniqueViolations",
            ])
        #expect(document["consistent"] as? Bool == true)
        let rebuilt = try Runner.run("rebuild", fixture.path)
        #expect(rebuilt.code == 0)
        #expect(rebuilt.output.contains("identical to what was there"))
    }

    @Test func `damaged tables are found with the first difference, and rebuilt`() throws {
        try fixture.fill()
        try fixture.damage { access, _ in
            let rows = try #require(access.member(1))
            var key: [UInt8] = []
            try access.withCursor(in: rows) { cursor in
                _ = try cursor.first()
                key = Array(cursor.key)
            }
            try access.change(key, in: rows) { $0[$0.count - 1] ^= 1 }
        }
        let before = try fixture.snapshot()["store/data.mdb"]
        let verified = try Runner.run("verify", fixture.path)
        #expect(verified.code == 1)
        #expect(verified.output.contains("The tables hold a row of entity 1 with another value"))
        #expect(verified.output.contains("backstitch rebuild \(fixture.path)"))
        #expect(try fixture.snapshot()["store/data.mdb"] == before)
        let json = try Runner.run("verify", fixture.path, "--json")
        #expect(json.code == 1)
        let document = try object(json.output)
        #expect(document["consistent"] as? Bool == false)
        #expect(document["logDamaged"] as? Bool == false)
        #expect((document["problems"] as? [String])?.count == 1)

        let rebuilt = try Runner.run("rebuild", fixture.path, "--json")
        #expect(rebuilt.code == 0)
        #expect(try object(rebuilt.output)["identical"] as? Bool == false)
        #expect(try Runner.run("verify", fixture.path).code == 0)
    }

    @Test func `a damaged log is found with the operation`() throws {
        try fixture.fill()
        try fixture.damage { access, databases in
            let log = try #require(databases["log"])
            try access.change([0, 0, 0, 0, 0, 0, 0, 2], in: log) { $0[$0.count / 2] ^= 4 }
        }
        let verified = try Runner.run("verify", fixture.path)
        #expect(verified.code == 1)
        #expect(verified.output.contains("Operation 2: its checksum does not match."))
        #expect(verified.output.contains("backstitch doctor \(fixture.path)"))

        let before = try fixture.snapshot()["store/data.mdb"]
        let rebuilt = try Runner.run("rebuild", fixture.path)
        #expect(rebuilt.code == 2)
        #expect(rebuilt.complaint.contains("verify"))
        #expect(try fixture.snapshot()["store/data.mdb"] == before)

        let log = try Runner.run("log", fixture.path, "--json")
        #expect(log.code == 2)
        #expect(log.output.split(separator: "\n").count == 1)
        #expect(log.complaint.contains("Operation 2 of the log can't be read"))
    }
}
