import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct FaultPlanTests {
    @Test func `all kinds of fault come about by chance`() async throws {
        let probabilities = Dictionary(
            uniqueKeysWithValues: FaultKind.allCases.map { ($0, 0.01) })
        let counts = try await Self.run(seed: 1, probabilities: probabilities, rounds: 4_000).counts
        let missing = FaultKind.allCases.filter { counts[$0] == nil }
        #expect(missing == [])
    }

    @Test(arguments: 0..<10)
    func `the same seed gives the same faults and the same records`(seed: UInt64) async throws {
        let probabilities = Dictionary(
            uniqueKeysWithValues: FaultKind.allCases.map { ($0, 0.01) })
        let one = try await Self.run(seed: seed, probabilities: probabilities, rounds: 100)
        let other = try await Self.run(seed: seed, probabilities: probabilities, rounds: 100)
        #expect(one.counts == other.counts)
        #expect(one.records == other.records)
    }

    @Test func `a plan without probabilities injects nothing`() async throws {
        let outcome = try await Self.run(seed: 1, probabilities: [:], rounds: 100)
        #expect(outcome.counts == [:])
    }

    @Test func `faults come about as often as asked`() async throws {
        let fixture = try await Fixture()
        fixture.phone.faultPlan = FaultPlan(seed: 3, probabilities: [.lostRequest: 0.25])
        for _ in 0..<4_000 {
            _ = await code { () async throws(ServiceError) in
                _ = try await fixture.phone.currentUser()
            }
        }
        let count = fixture.phone.faultCounts[.lostRequest] ?? 0
        #expect((900...1_100).contains(count))
    }

    @Test func `all faults end at once`() async throws {
        let fixture = try await Fixture()
        var plan = FaultPlan(seed: 1, probabilities: [.lostRequest: 1])
        plan.scripted = [ScriptedFault(.error(.zoneBusy), for: .untilCleared)]
        fixture.phone.faultPlan = plan
        fixture.phone.endFaults()
        try await fixture.create("a")
    }

    private static func run(
        seed: UInt64, probabilities: [FaultKind: Double], rounds: Int
    ) async throws -> (counts: [FaultKind: Int], records: [ServiceRecord]) {
        let fixture = try await Fixture()
        var random = SeededGenerator(seed: seed)
        try await fixture.laptop.createSubscription("s", to: fixture.zone)
        fixture.laptop.onPoke { _ in }
        fixture.phone.faultPlan = FaultPlan(seed: seed, probabilities: probabilities)
        var token: String?
        var databaseToken: String?
        for round in 0..<rounds {
            _ = await code { () async throws(ServiceError) in
                try await fixture.laptop.createZone(fixture.zone)
                try await fixture.laptop.createZone(ZoneID("other"))
                try await fixture.laptop.createSubscription("s", to: fixture.zone)
            }
            for kind in RequestKind.allCases where kind != .deleteZone {
                do throws(ServiceError) {
                    switch kind {
                    case .modify:
                        let name = "r\(random.next() % 50)"
                        let stale = RecordModification.update(
                            recordName: "r0", recordType: "Note", changeTag: "none", fields: [:])
                        _ = try await fixture.modify([
                            Fixture.creation("new\(round)"), stale,
                            name == "r0" ? Fixture.creation("r1") : Fixture.creation(name),
                        ])
                        _ = try await fixture.modify(Fixture.creation("r0"))
                    case .zoneChanges: token = try await fixture.page(since: token, limit: 9).token
                    case .databaseChanges:
                        let page = try await fixture.phone.databaseChanges(since: databaseToken)
                        databaseToken = round % 3 == 0 ? nil : page.token
                    case .lookup:
                        _ = try await fixture.phone.lookUpRecords(["r0", "r1"], in: fixture.zone)
                    default: try await ErrorFaultTests.send(kind, in: fixture)
                    }
                } catch {
                    if error.code == .tokenExpired { (token, databaseToken) = (nil, nil) }
                }
            }
        }
        return (fixture.phone.faultCounts, fixture.cloud.records(in: fixture.zone))
    }
}
