import CloudKitWire
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("Zones that come and go, over each storage", .budgeted) struct ZoneLifeTests {
    /// With the default zone.
    private static let zonesMax = 6

    private static func fixture(_ engine: StorageEngine) async throws -> HubFixture {
        var limits = HubLimits()
        limits.waitMilliseconds = 600_000
        limits.zonesPerDatabase = zonesMax
        limits.tombstoneMilliseconds = 1_000
        return try await HubFixture(limits: limits, storage: engine.storage(limits))
    }

    /// Carries out operations, and answers the code of each one.
    private static func change(
        _ fixture: HubFixture, _ operations: [ModifyZonesRequest.Operation]
    ) async throws -> [String?] {
        let reply: ZonesResponse = try await fixture.call(
            .modifyZones, ModifyZonesRequest(operations: operations))
        return reply.zones.map(\.code)
    }

    private static func changes(
        _ fixture: HubFixture, since token: String?
    ) async throws -> ZonesResponse {
        try await fixture.call(.databaseChanges, DatabaseChangesRequest(syncToken: token))
    }

    @Test(arguments: StorageEngine.available)
    func `zones are made and deleted for ever, and few rows stay`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await Self.fixture(engine)
        for number in 0..<5 * Self.zonesMax {
            let zone = WireZoneID("zone\(number)")
            #expect(try await Self.change(fixture, [.init(.create, zone)]) == [nil])
            let saved = try await fixture.modify(
                .init(.create, HubFixture.record("a")), zone: zone.zoneName)
            #expect(saved.map(\.code) == [nil])
            #expect(try await Self.change(fixture, [.init(.delete, zone)]) == [nil])
        }
        let rows = try fixture.hub.storage.readHere { try $0.count(.zone) }
        let places = try fixture.hub.storage.readHere { try $0.count(.databaseFeed) }
        #expect(rows == Self.zonesMax && places == rows)
        // All but the default zone are deleted ones; and two sessions end.
        let ends = try fixture.hub.storage.readHere { try $0.count(.expiry) }
        #expect(ends == rows - 1 + 2)
        #expect(try fixture.wrongSpace() == [])
    }

    @Test(arguments: StorageEngine.available)
    func `the bound counts zones that are there, also within a request`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await Self.fixture(engine)
        let zones = (0..<8).map { WireZoneID("zone\($0)") }
        let full = try await Self.change(fixture, zones.prefix(6).map { .init(.create, $0) })
        #expect(full == [nil, nil, nil, nil, nil, "LIMIT_EXCEEDED"])
        // Each deleted zone makes room for one, and is forgotten; its name is as good as new.
        let mixed = try await Self.change(
            fixture,
            [
                .init(.delete, zones[1]), .init(.create, zones[5]), .init(.create, zones[6]),
                .init(.delete, zones[0]), .init(.delete, zones[2]), .init(.create, zones[2]),
                .init(.create, zones[1]), .init(.create, zones[7]),
            ])
        #expect(
            mixed == [nil, nil, "LIMIT_EXCEEDED", nil, nil, nil, nil, "LIMIT_EXCEEDED"])
        let all = try await Self.changes(fixture, since: nil)
        let names = all.zones.compactMap(\.value?.zoneID.zoneName).sorted()
        #expect(names == ["_defaultZone", "zone1", "zone2", "zone3", "zone4", "zone5"])
        #expect(all.zones.allSatisfy { $0.value?.isDeleted == false })
    }

    @Test(arguments: StorageEngine.available)
    func `a token that has not seen a forgotten deletion is refused, and later ones are not`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await Self.fixture(engine)
        let zones = (0..<8).map { WireZoneID("zone\($0)") }
        _ = try await Self.change(fixture, zones.prefix(5).map { .init(.create, $0) })
        let early = try await Self.changes(fixture, since: nil).syncToken
        _ = try await Self.change(fixture, [.init(.delete, zones[0])])
        let middle = try await Self.changes(fixture, since: early)
        #expect(middle.zones.compactMap(\.value?.isDeleted) == [true])
        _ = try await Self.change(fixture, [.init(.delete, zones[1])])
        // The row of the first one makes room.
        #expect(try await Self.change(fixture, [.init(.create, zones[5])]) == [nil])
        let error = await #expect(throws: WireError.self) {
            try await Self.changes(fixture, since: early)
        }
        #expect(error?.code == .badRequest)
        let late = try await Self.changes(fixture, since: middle.syncToken)
        #expect(late.zones.compactMap(\.value?.zoneID.zoneName) == ["zone1", "zone5"])
        #expect(late.zones.compactMap(\.value?.isDeleted) == [true, false])
    }

    @Test(arguments: StorageEngine.available)
    func `deleted zones end when tombstones of their time do, and older tokens with them`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await Self.fixture(engine)
        let zones = (0..<3).map { WireZoneID("zone\($0)") }
        func write(_ name: String) async throws {
            let saved = try await fixture.modify(
                .init(.create, HubFixture.record(name)), zone: "zone2")
            #expect(saved.map(\.code) == [nil])
        }
        func count(_ table: HubKey.Table) throws -> Int {
            try fixture.hub.storage.readHere { try $0.count(table) }
        }
        _ = try await Self.change(fixture, zones.map { .init(.create, $0) })
        let early = try await Self.changes(fixture, since: nil).syncToken
        _ = try await Self.change(fixture, [.init(.delete, zones[0])])
        let middle = try await Self.changes(fixture, since: early)
        #expect(middle.zones.compactMap(\.value?.isDeleted) == [true])
        fixture.advance(milliseconds: 600)
        _ = try await Self.change(fixture, [.init(.delete, zones[1])])
        fixture.advance(milliseconds: 399)
        try await write("a")
        #expect(try count(.zone) == 4 && count(.databaseFeed) == 4)
        let ended = try await Self.changes(fixture, since: early)
        #expect(ended.zones.compactMap(\.value?.isDeleted) == [true, true, false])
        fixture.advance(milliseconds: 1)
        try await write("b")
        #expect(try count(.zone) == 3 && count(.databaseFeed) == 3)
        let error = await #expect(throws: WireError.self) {
            try await Self.changes(fixture, since: early)
        }
        #expect(error?.code == .badRequest)
        let late = try await Self.changes(fixture, since: middle.syncToken)
        #expect(late.zones.compactMap(\.value?.zoneID.zoneName) == ["zone1", "zone2"])
        // A zone that was made again stays.
        _ = try await Self.change(fixture, [.init(.create, zones[1])])
        fixture.advance(milliseconds: 1_000)
        try await write("c")
        #expect(try count(.zone) == 3)
        // Those of two sessions are left.
        #expect(try count(.expiry) == 2)
    }

    @Test(arguments: StorageEngine.available)
    func `who has no token hears of no deleted zone, on whichever page`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await Self.fixture(engine)
        let zones = (0..<5).map { WireZoneID("zone\($0)") }
        _ = try await Self.change(fixture, zones.map { .init(.create, $0) })
        for zone in [zones[0], zones[2], zones[4]] {
            _ = try await Self.change(fixture, [.init(.delete, zone)])
        }
        var token: String?
        var names: [String] = []
        for page in 1...2 {
            let reply: ZonesResponse = try await fixture.call(
                .databaseChanges, DatabaseChangesRequest(syncToken: token, resultsLimit: 1))
            #expect(reply.zones.allSatisfy { $0.value?.isDeleted == false })
            names += reply.zones.compactMap(\.value?.zoneID.zoneName)
            token = reply.syncToken
            // What is deleted from now on is told.
            if page == 1 { _ = try await Self.change(fixture, [.init(.delete, zones[3])]) }
        }
        #expect(names == ["_defaultZone", "zone1"])
        let rest = try await Self.changes(fixture, since: token)
        #expect(rest.zones.compactMap(\.value?.zoneID.zoneName) == ["zone3"])
        #expect(rest.zones.compactMap(\.value?.isDeleted) == [true])
        #expect(rest.moreComing == false)
    }
}
