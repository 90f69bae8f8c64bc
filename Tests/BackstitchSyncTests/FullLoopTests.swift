import Backstitch
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity struct Team {
    var id = ID()
    var name: String
    @Relationship(inverse: \Player.team) var players: ToMany<Player>
}

@Entity struct Player {
    var id = ID()
    var name: String
    @Attribute(.indexed) var email: String
    var score: Int?
    @Relationship(onDelete: .cascade) var team: Team.ID?
}

@Suite(.budgeted) struct FullLoopTests {
    @Test func `a value saved offline reaches a second device`() async throws {
        let cloud = SimulatedCloud()
        let schema = StoreSchema(Team.self, Player.self)
        let first = try Store.inMemory(schema: schema)
        let second = try Store.inMemory(schema: schema)
        let configuration = SyncConfiguration(zoneName: "Notes", syncOnSave: false)
        let firstEngine = SyncEngine(
            store: first, service: cloud.connection(device: "first"), configuration: configuration)
        let secondEngine = SyncEngine(
            store: second, service: cloud.connection(device: "second"),
            configuration: configuration)

        let team = Team(name: "Blue")
        let ada = Player(name: "Ada", email: "ada@example.org", score: 3, team: team.id)
        try await first.write { tx in
            try tx.save(team)
            try tx.save(ada)
        }
        let pushed = try await firstEngine.sync()
        #expect(pushed.pushedRecords == 2)
        let pulled = try await secondEngine.sync()
        #expect(pulled.pulledRecords == 2)
        #expect(pulled.echoedRecords == 0)
        let found = try second.read { try $0.find(Player.self, ada.id) }
        #expect(found?.name == "Ada")
        #expect(found?.team == team.id)
        #expect(found?.score == 3)
        let players = try second.read { try $0.fetch(team.players) }
        #expect(players.map(\.name) == ["Ada"])

        // Both edit the same record; the server's version wins.
        try await first.write { tx in
            var edited = ada
            edited.score = 10
            try tx.save(edited)
        }
        try await second.write { tx in
            var edited = ada
            edited.score = nil
            try tx.save(edited)
        }
        _ = try await firstEngine.sync()
        let report = try await secondEngine.sync()
        #expect(report.conflicts == 1)
        #expect(try second.read { try $0.find(Player.self, ada.id) }?.score == 10)
        let again = try await firstEngine.sync()
        // What it pushed comes back, and was here.
        #expect(again.pulledRecords == 1)
        #expect(again.echoedRecords == 1)
        for store in [first, second] {
            #expect(try store.verify().problems == [])
            #expect(try await store.rebuild().isIdentical)
        }
        // A delete cascades and travels.
        try await first.write { _ = try $0.delete(team) }
        _ = try await firstEngine.sync()
        _ = try await secondEngine.sync()
        #expect(try second.read { try $0.count(Player.self) } == 0)
        #expect(cloud.records(in: ZoneID("Notes")).isEmpty)
    }
}
