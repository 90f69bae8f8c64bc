import CloudKitWire
import Testing

@testable import BackstitchHubCore

/// Common requests tell a storage what they are going to read, so that one that is far away has it
/// in a few round trips, however many records there are.
@Suite("What requests tell a storage before they read") struct StorageMissTests {
    private let storage = MemoryHubStorage()
    private let fixture: HubFixture

    init() async throws {
        fixture = try await HubFixture(storage: storage)
        try await fixture.makeZones("z", "y")
    }

    /// What a request costs a storage that is far away.
    private func cost(
        _ endpoint: Endpoint, _ body: String, headers: [HubRequest.Header] = []
    ) async -> MemoryHubStorage.Meter {
        _ = storage.takeMeter()
        let reply = await fixture.send(
            endpoint, as: fixture.ada, headers: headers, body: Array(body.utf8))
        let text = String(decoding: reply.body, as: UTF8.self)
        #expect(reply.status == 200 && !text.contains("serverErrorCode"), "\(text.prefix(300))")
        return storage.takeMeter()
    }

    private func expectTold(
        _ endpoint: Endpoint, _ body: String, roundTrips: Int,
        headers: [HubRequest.Header] = []
    ) async {
        let cost = await cost(endpoint, body, headers: headers)
        #expect(cost.misses == [], "\(endpoint.rawValue)")
        #expect(cost.roundTrips <= roundTrips, "\(endpoint.rawValue)")
    }

    private static func saves(_ kind: String, _ count: Int) -> String {
        let operations = (0..<count).map {
            #"{"operationType":"\#(kind)","record":\#(MeteredHub.record("r\($0)"))}"#
        }
        return "{\(MeteredHub.zoneID),\"operations\":[\(operations.joined(separator: ","))]}"
    }

    @Test(arguments: [1, 200])
    func `writes and pages of any size take as many round trips`(count: Int) async {
        let named = [
            HubRequest.Header(WireHeader.requestID, "a"),
            HubRequest.Header(
                WireHeader.extensions, WireExtension.header(WireExtension.allCases)),
        ]
        // The first one of a hub counts the answers that there are.
        _ = await cost(
            .modifyRecords, #"{"operations":[]}"#,
            headers: [HubRequest.Header(WireHeader.requestID, "0"), named[1]])
        let saves = Self.saves("create", count)
        await expectTold(.modifyRecords, saves, roundTrips: 4, headers: named)
        // It comes again, and gets its first answer.
        await expectTold(.modifyRecords, saves, roundTrips: 4, headers: named)
        await expectTold(.modifyRecords, Self.saves("forceUpdate", count), roundTrips: 4)
        let names = (0..<count).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ",")
        await expectTold(
            .lookupRecords, "{\(MeteredHub.zoneID),\"records\":[\(names)]}", roundTrips: 4)
        let feed = "{\(MeteredHub.zoneID),\"resultsLimit\":\(count)}"
        await expectTold(.recordChanges, feed, roundTrips: 4)
        await expectTold(.zoneChanges, "{\"zones\":[\(feed)]}", roundTrips: 4)
        // The page is full before the feed ends.
        let half = "{\(MeteredHub.zoneID),\"resultsLimit\":\(max(1, count / 2))}"
        await expectTold(.zoneChanges, "{\"zones\":[\(half)]}", roundTrips: 4)
    }

    @Test func `so do lists of zones`() async {
        await expectTold(.databaseChanges, "{}", roundTrips: 4)
        await expectTold(.zonesChanges, "{}", roundTrips: 4)
        await expectTold(.listZones, "{}", roundTrips: 4)
        await expectTold(
            .lookupZones, #"{"zones":[{"zoneName":"z"},{"zoneName":"y"}]}"#, roundTrips: 4)
    }

    @Test func `what is rare is read as it comes, and counted`() async {
        _ = await cost(.modifyRecords, Self.saves("create", 3))
        let query = #"{\#(MeteredHub.zoneID),"query":{"recordType":"T"}}"#
        #expect(await !cost(.queryRecords, query).misses.isEmpty)
    }
}
