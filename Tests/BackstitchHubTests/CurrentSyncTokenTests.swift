import CloudKitWire
import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite("Where a feed ends: zones/getCurrentSyncToken", .budgeted) struct CurrentSyncTokenTests {
    private static let call: Endpoint = "zones/getCurrentSyncToken"

    private let storage = MemoryHubStorage(isFar: true)
    private let fixture: HubFixture

    init() async throws {
        fixture = try await HubFixture(storage: storage)
        try await fixture.makeZones("y", "z")
        _ = try await fixture.modify(.init(.create, HubFixture.record("before")))
    }

    /// The reply to a body: a token, or the code of a failure.
    private func reply(
        _ body: String, in database: WireDatabase = .private, as user: HubAccounts.SignedInUser
    ) async throws -> (token: String?, code: String?) {
        let (status, reply) = await fixture.send(
            Self.call, in: database, as: user, body: Array(body.utf8))
        guard status == 200 else { return (nil, try WireError(body: reply).serverErrorCode) }
        return (try JSONObject(body: reply).requiredText("syncToken"), nil)
    }

    private func token(_ body: String) async throws -> String {
        try #require(try await reply(body, as: fixture.ada).token)
    }

    /// The names of the records that follow a token of the zone `z`.
    private func names(after token: String) async throws -> [String] {
        let feed = ZoneFeedRequest(zoneID: WireZoneID("z"), syncToken: token)
        let pages: ZoneChangesResponse = try await fixture.call(
            .zoneChanges, ZoneChangesRequest(zones: [feed]))
        let page = try #require(pages.zones.first?.value)
        #expect(!page.moreComing)
        return page.records.compactMap { $0.value?.recordName }
    }

    @Test func `of a zone only what changes afterwards follows`() async throws {
        let ofZone = #"{"zoneID":{"zoneName":"z"}}"#
        let before = try await token(ofZone)
        _ = try await fixture.modify(.init(.create, HubFixture.record("after")))
        let after = try await token(ofZone)
        #expect(try await names(after: before) == ["after"])
        #expect(try await names(after: after) == [])
        #expect(try await token(ofZone) == after)
    }

    @Test func `of the database only zones that change afterwards follow`() async throws {
        let token = try await token("{}")
        _ = try await fixture.modify(.init(.create, HubFixture.record("after")))
        let body = Array(#"{"syncToken":"\#(token)"}"#.utf8)
        let (status, reply) = await fixture.send(.databaseChanges, as: fixture.ada, body: body)
        #expect(status == 200)
        let text = String(decoding: reply, as: UTF8.self)
        #expect(text.contains(#""zoneName":"z""#) && !text.contains(#""zoneName":"y""#))
        // A body may be left out.
        let (withoutBody, _) = await fixture.send(Self.call, as: fixture.ada, body: [])
        #expect(withoutBody == 200)
    }

    @Test func `what has no feed, or is another user's, is told as such`() async throws {
        let (ada, bob) = (fixture.ada, fixture.bob)
        let own = #"{"zoneID":{"zoneName":"z"}}"#
        let adas =
            #"{"zoneID":{"zoneName":"z","ownerRecordName":"\#(ada.userRecordName)"}}"#
        let ofDefault = #"{"zoneID":{"zoneName":"_defaultZone"}}"#
        let missing = #"{"zoneID":{"zoneName":"none"}}"#
        #expect(try await reply(ofDefault, as: ada).code == "BAD_REQUEST")
        #expect(try await reply(missing, as: ada).code == "ZONE_NOT_FOUND")
        #expect(try await reply(own, in: .public, as: ada).code == "BAD_REQUEST")
        #expect(try await reply(#"{"zoneID":"z"}"#, as: ada).code == "BAD_REQUEST")
        #expect(try await reply(own, as: bob).code == "ZONE_NOT_FOUND")
        #expect(try await reply(adas, as: bob).code == "ZONE_NOT_FOUND")
        #expect(try await reply(adas, as: ada).token != nil)
    }

    @Test func `a storage that is far away is told what is read`() async throws {
        for body in ["{}", #"{"zoneID":{"zoneName":"z"}}"#] {
            _ = storage.takeMeter()
            _ = try await token(body)
            #expect(storage.takeMeter().misses == [])
        }
    }
}
