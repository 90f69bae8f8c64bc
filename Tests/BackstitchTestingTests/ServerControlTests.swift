import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct ServerControlTests {
    @Test func `tokens expire, and a fetch from the beginning starts anew`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a", "b", "c")
        let old = try await fixture.page(limit: 1)
        fixture.cloud.expireTokens(of: fixture.zone)
        #expect(await codeOfPaging(since: old.token, in: fixture) == .tokenExpired)
        let first = try await fixture.page(limit: 1)
        let second = try await fixture.page(since: first.token, limit: 1)
        let third = try await fixture.page(since: second.token, limit: 1)
        #expect([first, second, third].flatMap(\.records).count == 3)
        #expect(!third.moreComing)
    }

    @Test func `forgotten tombstones expire the tokens that need them`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a", "b")
        let old = try await fixture.page()
        _ = try await fixture.modify(fixture.deletion("a"))
        fixture.cloud.forgetTombstones(of: fixture.zone)
        #expect(await codeOfPaging(since: old.token, in: fixture) == .tokenExpired)
        let full = try await fixture.page()
        #expect(full.records.map(\.recordName) == ["b"] && full.deletions.isEmpty)
        try await fixture.create("a")
        #expect(try await fixture.page(since: full.token).records.map(\.recordName) == ["a"])
    }

    @Test func `database tokens expire`() async throws {
        let fixture = try await Fixture()
        let page = try await fixture.phone.databaseChanges(since: nil)
        fixture.phone.failNext(with: .databaseTokenExpiry)
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.phone.databaseChanges(since: page.token)
        }
        #expect(thrown == .tokenExpired)
        let fresh = try await fixture.phone.databaseChanges(since: nil)
        #expect(fresh.changedZones == [fixture.zone])
        #expect(try await fixture.phone.databaseChanges(since: fresh.token).changedZones == [])
    }

    @Test(arguments: [
        (FaultKind.zoneDeletion, ServiceError.Code.zoneDeletedByUser),
        (.zonePurge, .zonePurged), (.encryptedDataReset, .encryptedDataReset),
    ])
    func `a zone ends by fault`(kind: FaultKind, expected: ServiceError.Code) async throws {
        let fixture = try await Fixture()
        let token = try await fixture.page().token
        fixture.phone.failNext(with: kind)
        #expect(await codeOfPaging(since: token, in: fixture) == expected)
        #expect(await codeOfPaging(since: nil, in: fixture) == expected)
        #expect(fixture.phone.faultCounts == [kind: 1])
    }

    @Test(arguments: SimulatedCloud.ZoneEnding.allCases)
    func `a zone that ended says why until it is created again`(
        ending: SimulatedCloud.ZoneEnding
    ) async throws {
        let expected: (ServiceError.Code, DatabaseChangesPage.ZoneEnd) =
            switch ending {
            case .deleted: (.zoneNotFound, .deleted)
            case .deletedByUser: (.zoneDeletedByUser, .deleted)
            case .purged: (.zonePurged, .purged)
            case .encryptedDataReset: (.encryptedDataReset, .encryptedDataReset)
            }
        let fixture = try await Fixture()
        try await fixture.create("a")
        let token = try await fixture.page().token
        let database = try await fixture.phone.databaseChanges(since: nil).token
        #expect(fixture.cloud.endZone(fixture.zone, as: ending))
        #expect(!fixture.cloud.endZone(fixture.zone, as: ending))
        for kind in [RequestKind.modify, .lookup, .zoneChanges, .createSubscription] {
            let thrown = await code { () async throws(ServiceError) in
                try await ErrorFaultTests.send(kind, in: fixture)
            }
            #expect(thrown == expected.0)
        }
        let changes = try await fixture.phone.databaseChanges(since: database)
        #expect(changes.endedZones == [fixture.zone: expected.1])
        try await fixture.phone.createZone(fixture.zone)
        let created = try await fixture.phone.databaseChanges(since: changes.token)
        #expect(created.changedZones == [fixture.zone] && created.endedZones.isEmpty)
        #expect(fixture.names == [])
        #expect(await codeOfPaging(since: token, in: fixture) == .tokenExpired)
    }

    @Test func `a server put back to a backup is another epoch`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let backup = fixture.cloud.snapshot()
        let database = try await fixture.phone.databaseChanges(since: nil).token
        let token = try await fixture.page().token
        _ = try await fixture.modify(fixture.update("a", ["title": .string("two")]))
        let lost = fixture.tag("a")
        try await fixture.create("b")
        fixture.cloud.restore(to: backup)
        #expect(fixture.names == ["a"])
        #expect(await codeOfPaging(since: token, in: fixture) == .tokenExpired)
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.phone.databaseChanges(since: database)
        }
        #expect(thrown == .tokenExpired)
        _ = try await fixture.modify(fixture.update("a", ["title": .string("three")]))
        #expect(fixture.tag("a") != lost)
        fixture.cloud.wipe()
        #expect(fixture.cloud.zones() == [])
    }

    @Test func `a server put back to an older state refuses the tokens of what it lost alone`()
        async throws
    {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let known = try await fixture.page().token
        let older = fixture.cloud.snapshot()
        var pushed = known
        _ = try await fixture.phone.modifyRecords(
            [Fixture.creation("b")], in: fixture.zone, atomic: false, token: &pushed)
        #expect(pushed != known)
        #expect(try await fixture.page(since: pushed).records.map(\.recordName) == ["b"])
        let lost = fixture.tag("b")
        let seen = try await fixture.page().token
        let database = try await fixture.phone.databaseChanges(since: nil).token
        fixture.cloud.rollBack(to: older)
        #expect(fixture.names == ["a"])
        try await fixture.create("b", "c", "d")
        #expect(fixture.tag("b") != lost)
        for token in [pushed, seen] {
            #expect(await codeOfPaging(since: token, in: fixture) == .zoneNotFound)
            let thrown = await code { () async throws(ServiceError) in
                var next = token
                _ = try await fixture.phone.modifyRecords(
                    [Fixture.creation("e")], in: fixture.zone, atomic: false, token: &next)
            }
            #expect(thrown == .zoneNotFound)
        }
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.phone.databaseChanges(since: database)
        }
        #expect(thrown == .tokenExpired)
        let page = try await fixture.page(since: known)
        #expect(page.records.map(\.recordName) == ["b", "c", "d"])
        #expect(fixture.cloud.violations.isEmpty)
    }

    @Test func `a modification leaves its token expired, and one that tells of it`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let token = try await fixture.page().token
        let first = fixture.cloud.snapshot()
        fixture.cloud.forgetTombstones(of: fixture.zone)
        let second = fixture.cloud.snapshot()
        var pushed = token
        _ = try await fixture.phone.modifyRecords(
            [Fixture.creation("b")], in: fixture.zone, atomic: false, token: &pushed)
        #expect(await codeOfPaging(since: pushed, in: fixture) == .tokenExpired)
        fixture.cloud.rollBack(to: second)
        #expect(await codeOfPaging(since: pushed, in: fixture) == .zoneNotFound)
        #expect(await codeOfPaging(since: token, in: fixture) == .tokenExpired)
        fixture.cloud.rollBack(to: first)
        #expect(await codeOfPaging(since: pushed, in: fixture) == .zoneNotFound)
        #expect(try await fixture.page(since: token).records.isEmpty)
    }

    @Test func `a server is put back between two requests, and to what it lost before`()
        async throws
    {
        let fixture = try await Fixture()
        let first = fixture.cloud.snapshot()
        try await fixture.create("a")
        let second = fixture.cloud.snapshot()
        let token = try await fixture.page().token
        fixture.cloud.rollBack(to: first, afterRequests: 1)
        #expect(try await fixture.page().records.count == 1)
        #expect(try await fixture.page().records.isEmpty)
        #expect(await codeOfPaging(since: token, in: fixture) == .zoneNotFound)
        fixture.cloud.rollBack(to: second)
        #expect(try await fixture.page(since: token).records.isEmpty)
        #expect(fixture.names == ["a"])
    }

    @Test func `somebody else writes and deletes`() async throws {
        let fixture = try await Fixture()
        let written = try fixture.cloud.write(
            "a", type: "Note", fields: ["x": .int64(1), "y": .int64(2)], in: fixture.zone)
        try fixture.cloud.write("a", type: "Note", fields: ["x": .null], in: fixture.zone)
        #expect(written.changeTag != fixture.tag("a"))
        #expect(
            fixture.cloud.record(named: "a", in: fixture.zone)?.fields == ["y": .int64(2)])
        try fixture.cloud.remove("a", in: fixture.zone)
        #expect(throws: ServiceError.self) { try fixture.cloud.remove("a", in: fixture.zone) }
        #expect(throws: ServiceError.self) {
            try fixture.cloud.write("a", type: "Note", fields: [:], in: ZoneID("none"))
        }
    }

    @Test func `requests are counted, and the latest are logged`() async throws {
        let fixture = try await Fixture()
        fixture.cloud.options.requestLogMax = 3
        for index in 0..<20 { try await fixture.create("r\(index)") }
        #expect(fixture.cloud.requestCounts == [.createZone: 1, .modify: 20])
        let names = fixture.cloud.requests.flatMap { $0.modifications.map(\.recordName) }
        #expect(names == ["r17", "r18", "r19"])
        fixture.cloud.clearRequests()
        #expect(fixture.cloud.requestCounts == [:])
    }

    private func codeOfPaging(
        since token: String?, in fixture: Fixture
    ) async -> ServiceError.Code? {
        await code { () async throws(ServiceError) in _ = try await fixture.page(since: token) }
    }
}
