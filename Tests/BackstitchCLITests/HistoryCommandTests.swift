import Backstitch
import BackstitchCore
import BackstitchTesting
import Foundation
import Terminal
import TestBudget
import Testing

@Suite(.budgeted) struct HistoryCommandTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// A note with two operations.
    private func fill() throws {
        let store = try fixture.open()
        defer { store.close() }
        try store.save("n", "one")
        try store.write(author: "ada", context: "a better\ntitle") { transaction in
            _ = try transaction.save(
                StoredNote(
                    id: StoredNote.ID(key: RecordKey(RecordName("n"))), title: "two", stars: 1))
        }
        try store.save("other", "other")
    }

    @Test func `history shows the steps of a record, newest first`() throws {
        try fill()
        let result = try Runner.run("history", fixture.path, "Note", "n")
        #expect(result.code == 0)
        #expect(result.complaint.isEmpty)
        #expect(
            result.output == """
                       2  2023-11-14T22:13:20.123Z  local   update       Note  n  by ada
                          context  "a better\\ntitle"
                          title    "one" -> "two"
                       1  2023-11-14T22:13:20.123Z  local   insert       Note  n  by test
                          title  "one"
                          stars  1

                """)
        let one = try Runner.run("history", fixture.path, "Note", "n", "--limit", "1")
        #expect(one.output.contains("update"))
        #expect(!one.output.contains("insert"))
    }

    @Test func `history writes JSON objects with the record after each step`() throws {
        try fill()
        let result = try Runner.run("history", fixture.path, "Note", "n", "--json")
        let documents = try result.output.split(separator: "\n").map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(documents.compactMap { $0["sequence"] as? Int } == [2, 1])
        #expect(documents.first?["context"] as? String == "a better\ntitle")
        let values = documents.first?["values"] as? [String: [String: Any]]
        #expect(values?["title"]?["string"] as? String == "two")
        #expect(values?["stars"]?["int64"] as? Int == 1)
    }

    @Test func `a compacted history says where it begins`() async throws {
        try fill()
        let store = try fixture.open()
        let engine = SyncEngine(
            store: store, service: SimulatedCloud().connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        _ = try await engine.sync()
        try store.save("last", "last")
        try await store.compact(.keepUnsyncedOnly)
        store.close()
        let result = try Runner.run("history", fixture.path, "Note", "n")
        #expect(result.output.contains("baseline"))
        #expect(result.output.hasSuffix("What was before was compacted.\n"))
    }

    @Test(arguments: [
        (["Nothing", "n"], "It has: Note."),
        (["Note", "nobody"], "no operation of a record nobody"),
        (["Note"], "NAME is missing"), (["Note", "n", "--limit", "0"], "--limit takes"),
        (["Note", String(repeating: "x", count: 256)], "255"),
    ])
    func `what can't be shown is explained`(words: [String], complaint: String) throws {
        try fill()
        let before = try fixture.snapshot()["store/data.mdb"]
        let result = try Runner.run(["history", fixture.path] + words)
        #expect(result.code == 2)
        #expect(result.output.isEmpty)
        #expect(result.complaint.contains(complaint), "\(result.complaint)")
        #expect(try fixture.snapshot()["store/data.mdb"] == before)
    }

    @Test func `where there is no store none is made`() throws {
        let result = try Runner.run("history", fixture.path, "Note", "n")
        #expect(result.code == 2)
        #expect(try fixture.snapshot().isEmpty)
    }
}
