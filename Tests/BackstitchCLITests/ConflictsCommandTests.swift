import Backstitch
import BackstitchTesting
import Foundation
import Terminal
import TestBudget
import Testing

@Suite(.budgeted) struct ConflictsCommandTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// A note that was changed here and on the service, and its two versions kept.
    private func fill(_ policy: ConflictPolicy = .serverWins) async throws {
        let cloud = SimulatedCloud()
        let store = try fixture.open()
        defer { store.close() }
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(
                zoneName: "Notes", conflictPolicy: policy, syncOnSave: false))
        try store.save("n", "base")
        try await engine.sync()
        try cloud.write(
            "n", type: "Note", fields: ["title": .string("theirs")], in: ZoneID("Notes"))
        try store.save("n", "mine")
        try await engine.sync()
        await engine.stop()
    }

    private func objects(_ output: String) throws -> [[String: Any]] {
        try output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    @Test func `conflicts are listed with what differs`() async throws {
        try await fill()
        let result = try Runner.run("conflicts", fixture.path)
        #expect(result.code == 0 && result.complaint.isEmpty)
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasSuffix("Note  n  serverWins") == true)
        #expect(lines.last?.contains("title") == true)
        #expect(lines.last?.contains("\"mine\"") == true)
        #expect(lines.last?.contains("\"theirs\"") == true)
    }

    @Test func `conflicts are JSON objects with all sides`() async throws {
        try await fill(.keepBoth)
        let result = try Runner.run("conflicts", fixture.path, "--json", "--policy", "keepBoth")
        let conflict = try #require(try objects(result.output).first)
        #expect(
            Set(conflict.keys) == [
                "sequence", "date", "entity", "record", "policy", "base", "local", "server",
                "outcome", "copy",
            ])
        let local = conflict["local"] as? [String: [String: Any]]
        #expect(local?["title"]?["string"] as? String == "mine")
        let none = try Runner.run("conflicts", fixture.path, "--json", "--policy", "serverWins")
        #expect(none.code == 0 && none.output.isEmpty)
    }

    @Test func `a conflict is undone once`() async throws {
        try await fill()
        let listed = try Runner.run("conflicts", fixture.path, "--json")
        let sequence = try #require(try objects(listed.output).first?["sequence"] as? Int)
        for isChanged in [true, false] {
            let result = try Runner.run(
                "conflicts", fixture.path, "--undo", "\(sequence)", "--json")
            #expect(result.code == 0)
            let object = try #require(try objects(result.output).first)
            #expect(object["changed"] as? Bool == isChanged)
            #expect(object["sequence"] as? Int == sequence)
        }
        let store = try fixture.open()
        defer { store.close() }
        #expect(try store.read { try $0.fetch(StoredNote.self) }.map(\.title) == ["mine"])
    }

    @Test(arguments: [
        ["--undo", "999"], ["--undo", "x"], ["--policy", "nobodyWins"], ["--take", "local"],
        ["--undo", "1", "--take", "mine"],
    ])
    func `what makes no sense is refused`(arguments: [String]) async throws {
        try await fill()
        let result = try Runner.run(["conflicts", fixture.path] + arguments)
        #expect(result.code == 2)
        #expect(!result.complaint.isEmpty && result.output.isEmpty)
    }
}
