import BackstitchCore
import CloudKitWire
import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite("The space of a user on a hub", .budgeted)
struct HubQuotaTests {
    private static func record(_ name: String, _ count: Int) -> WireRecord {
        HubFixture.record(name, ["t": .string(String(repeating: "x", count: count))])
    }

    private static func fixture(bytes: Int64) async throws -> HubFixture {
        var limits = HubLimits()
        limits.privateDatabaseBytes = bytes
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z", "y")
        return fixture
    }

    @Test("a user whose space is used up can't add, but change, delete, and add again")
    func records() async throws {
        let fixture = try await Self.fixture(bytes: 1_000)
        let first = try await fixture.modify(
            .init(.create, Self.record("a", 400)), .init(.create, Self.record("b", 400)),
            .init(.create, Self.record("c", 400)))
        #expect(first.map(\.code) == [nil, nil, "QUOTA_EXCEEDED"])
        let other = try await fixture.modify(
            .init(.create, Self.record("c", 400)), .init(.forceUpdate, Self.record("a", 390)),
            zone: "z")
        #expect(other.map(\.code) == ["QUOTA_EXCEEDED", nil])
        let elsewhere = try await fixture.modify(.init(.create, Self.record("c", 400)), zone: "y")
        #expect(elsewhere.map(\.code) == ["QUOTA_EXCEEDED"])
        _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: "b")))
        let again = try await fixture.modify(.init(.create, Self.record("c", 400)), zone: "y")
        #expect(again.map(\.code) == [nil])
        #expect(try fixture.wrongSpace() == [])
        let request = ModifyRecordsRequest(operations: [.init(.create, Self.record("a", 400))])
        let bobs: RecordsResponse = try await fixture.call(
            .modifyRecords, request, as: fixture.bob)
        #expect(bobs.records.first?.code == nil)
        let publics: RecordsResponse = try await fixture.call(
            .modifyRecords, in: .public, request)
        #expect(publics.records.first?.code == nil)
    }

    @Test("the end of a zone gives its space back")
    func zones() async throws {
        let fixture = try await Self.fixture(bytes: 1_000)
        _ = try await fixture.modify(.init(.create, Self.record("a", 900)))
        let zone = ModifyZonesRequest(operations: [.init(.delete, WireZoneID("z"))])
        let _: ZonesResponse = try await fixture.call(.modifyZones, zone)
        try await fixture.makeZones("z")
        let again = try await fixture.modify(.init(.create, Self.record("a", 900)))
        #expect(again.map(\.code) == [nil])
        #expect(try fixture.wrongSpace() == [])
    }

    @Test("files count, and none is taken that does not fit")
    func files() async throws {
        let fixture = try await Self.fixture(bytes: 1_000)
        let place = WireAssetPlace(recordName: "a", fieldName: "f")
        let request = UploadRequest(
            places: [place, place], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, request)
        func send(_ index: Int, _ count: Int) async throws -> (Int, ServiceAsset?) {
            let url = uploads.tokens[index].url
            let sent = HubRequest(
                method: "POST", target: HostileWorld.path(url),
                body: [UInt8](repeating: 1, count: count))
            let response = await fixture.hub.respond(to: sent)
            response.check(against: sent, mayBeWrong: false)
            guard case .bytes(let body) = response.body else { return (response.status, nil) }
            return (response.status, try? UploadedFileResponse(body: body).file)
        }
        #expect(try await send(0, 1_001).0 == 413)
        let (status, file) = try await send(1, 800)
        #expect(status == 200)
        let asset = try #require(file)
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["f": .asset(asset)])))
        #expect(saved.map(\.code) == [nil])
        let next = try await fixture.modify(.init(.create, Self.record("b", 100)))
        #expect(next.map(\.code) == ["QUOTA_EXCEEDED"])
        #expect(try fixture.wrongSpace() == [])
        _ = try await fixture.modify(.init(.create, Self.record("c", 1)))
        _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: "a")))
        let room = try await fixture.modify(.init(.create, Self.record("b", 700)))
        #expect(room.map(\.code) == [nil])
        #expect(try fixture.wrongSpace() == [])
    }
}
