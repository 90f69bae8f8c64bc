import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHubCore

/// Common requests tell a storage what they are going to read, so that one that is far away has it
/// in a few round trips, however many records there are.
@Suite("What requests tell a storage before they read", .budgeted) struct StorageMissTests {
    private let storage = MemoryHubStorage(isFar: true)
    private let fixture: HubFixture

    init() async throws {
        fixture = try await HubFixture(storage: storage)
        try await fixture.makeZones("z", "y")
    }

    /// What a request costs a storage that is far away, without the look at its credentials and without
    /// the commit.
    private func cost(
        _ endpoint: Endpoint, _ body: String, headers: [HubRequest.Header] = [],
        isFailure: Bool = false
    ) async -> MemoryHubStorage.Meter {
        var request = HubRequest(
            method: "POST", target: fixture.target(endpoint, as: fixture.ada), headers: headers)
        let (admissions, length) = (fixture.hub.admissions, body.utf8.count)
        #expect(admissions.admissionAtOnce(of: &request, length: length) == nil)
        guard case .take = await admissions.admission(of: &request, length: length) else {
            Issue.record("A request was refused by its head.")
            return MemoryHubStorage.Meter()
        }
        request.body = .bytes(Array(body.utf8))
        _ = storage.takeMeter()
        let reply = await fixture.hub.respond(to: request)
        guard case .bytes(let bytes) = reply.body else { return MemoryHubStorage.Meter() }
        let text = String(decoding: bytes, as: UTF8.self)
        let isRight = reply.status == 200 && !text.contains("serverErrorCode")
        #expect(isRight != isFailure, "\(text.prefix(300))")
        return storage.takeMeter()
    }

    private func expectTold(
        _ endpoint: Endpoint, _ body: String, roundTrips: Int = 1,
        headers: [HubRequest.Header] = [], isFailure: Bool = false
    ) async {
        let cost = await cost(endpoint, body, headers: headers, isFailure: isFailure)
        #expect(cost.misses == [], "\(endpoint.rawValue) \(body.prefix(200))")
        #expect(cost.roundTrips <= roundTrips, "\(endpoint.rawValue) \(body.prefix(200))")
    }

    private static func saves(_ kind: String, _ count: Int, from first: Int = 0) -> String {
        let operations = (first..<first + count).map {
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
        let saves = Self.saves("create", count)
        // Where the zone is has to be looked up once.
        await expectTold(.modifyRecords, saves, roundTrips: 2, headers: named)
        // It comes again, and gets its first answer.
        await expectTold(.modifyRecords, saves, headers: named)
        await expectTold(.modifyRecords, Self.saves("forceUpdate", count))
        let names = (0..<count).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ",")
        await expectTold(.lookupRecords, "{\(MeteredHub.zoneID),\"records\":[\(names)]}")
        // The whole feed, and a page that is full before it ends; both ways.
        for limit in [count, max(1, count / 2)] {
            for isReverse in [false, true] {
                let feed =
                    "{\(MeteredHub.zoneID),\"resultsLimit\":\(limit),\"reverse\":\(isReverse)}"
                await expectTold(.recordChanges, feed)
                await expectTold(.zoneChanges, "{\"zones\":[\(feed)]}")
            }
        }
        await expectTold(.modifyRecords, Self.saves("forceDelete", count))
        // Tombstones are records too.
        await expectTold(.zoneChanges, "{\"zones\":[{\(MeteredHub.zoneID)}]}")
    }

    @Test func `a page of a feed goes on where its token says, in one round trip`() async throws {
        _ = await cost(.modifyRecords, Self.saves("create", 9))
        var token = ""
        for _ in 0..<3 {
            let feed = "{\(MeteredHub.zoneID),\"resultsLimit\":4\(token)}"
            await expectTold(.recordChanges, feed)
            let reply = await fixture.send(
                .recordChanges, as: fixture.ada, body: Array(feed.utf8))
            let next = try JSONObject(body: reply.body).requiredText("syncToken")
            token = ",\"syncToken\":\"\(next)\""
        }
    }

    @Test func `so do lists of zones`() async {
        await expectTold(.databaseChanges, "{}")
        await expectTold(.zonesChanges, "{}")
        await expectTold(.listZones, "{}")
        await expectTold(.lookupZones, #"{"zones":[{"zoneName":"z"},{"zoneName":"y"}]}"#)
        func operation(_ kind: String, _ name: String) -> String {
            #"{"operations":[{"operationType":"\#(kind)","zone":{"zoneID":{"zoneName":"\#(name)"}}}]}"#
        }
        await expectTold(.modifyZones, operation("create", "x"))
        // What is left of the zone is looked for.
        await expectTold(.modifyZones, operation("delete", "x"), roundTrips: 2)
    }

    @Test func `queries take one for each thousand records`() async {
        _ = await cost(.modifyRecords, Self.saves("create", 200))
        func query(_ rest: String) -> String {
            #"{\#(MeteredHub.zoneID),"query":{"recordType":"T"\#(rest)}}"#
        }
        await expectTold(.queryRecords, query(""))
        let filter =
            #","filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1}}]"#
        await expectTold(.queryRecords, query(filter))
        await expectTold(
            .queryRecords, query(#","sortBy":[{"fieldName":"___modTime"}]"#))
        await expectTold(
            .queryRecords, #"{"zoneWide":true,"query":{"recordType":"T"}}"#, roundTrips: 4)
        for part in 0..<6 {
            _ = await cost(.modifyRecords, Self.saves("create", 200, from: 200 * (part + 1)))
        }
        await expectTold(.queryRecords, query(filter), roundTrips: 2)
    }

    @Test func `references, and what goes with a record, take one for each level`() async {
        func record(_ name: String, _ target: String, _ action: String) -> String {
            let fields = MeteredHub.reference("f", target, action)
            return #"{"operationType":"create","record":\#(MeteredHub.record(name, fields))}"#
        }
        func modify(_ operations: String...) -> String {
            "{\(MeteredHub.zoneID),\"operations\":[\(operations.joined(separator: ","))]}"
        }
        func delete(_ name: String) -> String {
            #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#
        }
        _ = await cost(.modifyRecords, Self.saves("create", 3))
        await expectTold(
            .modifyRecords,
            modify(
                record("a", "r0", "DELETE_SELF"), record("b", "a", "DELETE_SELF"),
                record("c", "r1", "VALIDATE")))
        // It keeps the reference, which is found with the record.
        let update =
            #"{"operationType":"forceUpdate","record":\#(MeteredHub.record("c"))}"#
        await expectTold(.modifyRecords, modify(update), roundTrips: 2)
        await expectTold(.modifyRecords, modify(delete("r1")), isFailure: true)
        await expectTold(.modifyRecords, modify(delete("r0")), roundTrips: 3)
    }

    @Test func `users, subscriptions and devices take one`() async {
        await expectTold(.currentUser, "{}")
        await expectTold(.caller, "{}")
        await expectTold(
            .lookupUsersByID,
            #"{"lookupInfos":[{"userRecordName":"\#(fixture.bob.userRecordName)"}]}"#, roundTrips: 2
        )
        await expectTold(
            .lookupUsersByEmail, #"{"lookupInfos":[{"emailAddress":"ada@example.com"}]}"#,
            roundTrips: 2)
        await expectTold(.discoverUsers, "{}", roundTrips: 2)
        let subscription =
            #"{"subscriptionID":"s","subscriptionType":"zone",\#(MeteredHub.zoneID)}"#
        await expectTold(
            .modifySubscriptions,
            #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
        await expectTold(.listSubscriptions, "{}")
        await expectTold(.lookupSubscriptions, #"{"subscriptions":[{"subscriptionID":"s"}]}"#)
        await expectTold(
            .modifySubscriptions,
            #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"s"}}]}"#)
        // For the first device of a user it is looked up where the feeds stand.
        await expectTold(.createToken, #"{"apnsEnvironment":"development"}"#, roundTrips: 4)
        await expectTold(.createToken, #"{"apnsEnvironment":"development"}"#)
        await expectTold(
            .registerToken, #"{"apnsEnvironment":"development","apnsToken":"abc"}"#)
    }

    @Test func `files take one, and another one for what is known of them`() async throws {
        let places = #""tokens":[{"recordName":"a","fieldName":"f"}]"#
        await expectTold(.uploadAssets, "{\(MeteredHub.zoneID),\(places)}")
        let uploads: UploadTokensResponse = try await fixture.call(
            .uploadAssets, UploadRequest(places: [WireAssetPlace(recordName: "a", fieldName: "f")]),
            as: fixture.ada)
        let url = try #require(uploads.tokens.first).url
        let path = try #require(url.range(of: "/upload/")).lowerBound
        let target = String(url[path...])
        _ = storage.takeMeter()
        let upload = await fixture.hub.respond(
            to: HubRequest(method: "POST", target: target, body: [1, 2, 3]))
        #expect(upload.status == 200)
        // A look at the address, a note before the file and one after it.
        let used = storage.takeMeter()
        #expect(used.misses == [] && used.roundTrips <= 3)
        guard case .bytes(let body) = upload.body else { return }
        let file = String(decoding: body, as: UTF8.self).dropFirst(#"{"singleFile":"#.count)
            .dropLast()
        let field = #""f":{"value":\#(file),"type":"ASSETID"}"#
        let save = MeteredHub.record("a", field)
        await expectTold(
            .modifyRecords,
            #"{"operations":[{"operationType":"create","record":\#(save)}]}"#, roundTrips: 3)
        await expectTold(
            .rereferenceAssets, #"{"assets":[{"recordName":"a","fieldName":"f"}]}"#, roundTrips: 2)
        let look = await cost(.lookupRecords, #"{"records":[{"recordName":"a"}]}"#)
        #expect(look.misses == [])
    }

    @Test func `what nobody told of is counted, and told to operators`() async throws {
        let key = StateRow.key
        let before = storage.missCount
        let value = try await storage.read { transaction in
            transaction.expect { [.key(key)] }
            _ = try transaction.value(key)
            try transaction.scan(HubKey(.global, .realm), from: nil) { _, _ in true }
            return try transaction.value(APITokenRow.key(fixture.apiToken))
        }
        #expect(value != nil)
        #expect(storage.missCount == before + 2)
        let page = await fixture.hub.respond(to: HubRequest(method: "GET", target: "/metrics"))
        guard case .bytes(let bytes) = page.body else { return }
        #expect(
            String(decoding: bytes, as: UTF8.self)
                .contains("\nbackstitch_hub_storage_misses_total \(before + 2)\n"))
    }
}
