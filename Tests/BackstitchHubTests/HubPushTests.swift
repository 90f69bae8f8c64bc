import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("Notifications and files of a hub", .budgeted)
struct HubPushTests {
    private func makeToken(
        _ fixture: HubFixture
    ) async throws -> PushTokenResponse {
        try await fixture.call(
            .createToken, PushTokenRequest(apnsEnvironment: "development"))
    }

    private func poll(_ fixture: HubFixture, _ token: PushTokenResponse) async -> [UInt8] {
        let target = String(token.webcourierURL.dropFirst("http://127.0.0.1".count))
        let response = await fixture.hub.respond(to: HubRequest(method: "GET", target: target))
        guard response.status == 200, case .bytes(let body) = response.body else { return [0] }
        return body
    }

    private func subscribe(_ fixture: HubFixture, _ subscription: WireSubscription) async throws {
        let reply: SubscriptionsResponse = try await fixture.call(
            .modifySubscriptions,
            ModifySubscriptionsRequest(operations: [.create(subscription)]))
        #expect(reply.subscriptions.first?.code == nil)
    }

    @Test("a change is told to the user's other devices, and not to the one that made it")
    func zoneNotification() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        try await subscribe(
            fixture, WireSubscription(subscriptionID: "s", kind: .zone, zoneID: WireZoneID("z")))
        let (phone, laptop) = (try await makeToken(fixture), try await makeToken(fixture))
        async let polled = poll(fixture, laptop)
        try await fixture.waitForListeners()
        _ = try await fixture.modify(
            .init(.create, HubFixture.record("a")),
            headers: [HubRequest.Header(WireHeader.pushToken, phone.apnsToken)])
        let payload = try JSONObject(body: await polled).requiredObject("ck")
        #expect(try payload.text("cid") == HubFixture.container)
        #expect(try payload.object("fet")?.text("zid") == "z")
        async let quiet = poll(fixture, phone)
        try await fixture.waitForListeners()
        fixture.advance(milliseconds: HubLimits().courierMilliseconds)
        fixture.hub.tick()
        #expect(await quiet.isEmpty)
    }

    @Test(
        "what another hub changes is told to the devices that listen here",
        arguments: StorageEngine.shareable)
    func wakeUps(engine: StorageEngine) async throws {
        let (storage, otherStorage, _) = try engine.pair()
        let fixture = try await HubFixture(storage: storage)
        let other = try await Hub(
            storage: otherStorage,
            files: FolderFiles(folder: fixture.folder.path),
            configuration: fixture.hub.configuration)
        defer { other.close() }
        try fixture.hub.beginServing()
        try await fixture.makeZones("z")
        try await subscribe(
            fixture, WireSubscription(subscriptionID: "s", kind: .zone, zoneID: WireZoneID("z")))
        var query = WireSubscription(subscriptionID: "q", kind: .query, zoneID: WireZoneID("z"))
        query.query = ServiceQuery(recordType: "T")
        query.firesOn = ["delete"]
        try await subscribe(fixture, query)
        let phone = try await makeToken(fixture)
        func modify(_ hub: Hub, _ kind: String) async {
            let body =
                #"{"zoneID":{"zoneName":"z"},"operations":[{"operationType":"\#(kind)","record":"#
                + MeteredHub.record("a") + "}]}"
            let request = HubRequest(
                method: "POST", target: fixture.target(.modifyRecords, as: fixture.ada),
                headers: [HubRequest.Header(WireHeader.pushToken, phone.apnsToken)],
                body: Array(body.utf8))
            #expect(await hub.respond(to: request).status == 200)
        }
        // Its own are told as ever, and not once more.
        await modify(fixture.hub, "create")
        await fixture.tellAll()
        async let polled = poll(fixture, phone)
        try await fixture.waitForListeners()
        await modify(other, "forceDelete")
        var told = [try JSONObject(body: await polled).requiredObject("ck")]
        told.append(try JSONObject(body: await poll(fixture, phone)).requiredObject("ck"))
        #expect(told.compactMap { try? $0.object("fet")?.text("zid") } == ["z"])
        #expect(told.compactMap { try? $0.object("qry")?.text("rid") } == ["a"])
        async let quiet = poll(fixture, phone)
        try await fixture.waitForListeners()
        fixture.advance(milliseconds: HubLimits().courierMilliseconds)
        fixture.hub.tick()
        #expect(await quiet.isEmpty)
    }

    @Test("a clock that is set neither ends calls that wait, nor keeps them for longer")
    func setClock() async throws {
        let fixture = try await HubFixture()
        let (phone, laptop) = (try await makeToken(fixture), try await makeToken(fixture))
        async let first = poll(fixture, phone)
        try await fixture.waitForListeners()
        fixture.setClock(by: 24 * 3_600 * 1_000)
        fixture.hub.tick()
        #expect(fixture.hub.mailboxes.waiterCount == 1)
        fixture.setClock(by: -48 * 3_600 * 1_000)
        async let second = poll(fixture, laptop)
        try await fixture.waitForListeners(2)
        fixture.advance(milliseconds: HubLimits().courierMilliseconds)
        fixture.hub.tick()
        #expect(fixture.hub.mailboxes.waiterCount == 0)
        fixture.hub.mailboxes.releaseAll()
        #expect(await first.isEmpty)
        #expect(await second.isEmpty)
    }

    @Test("notifications that nobody waits for are kept, each once")
    func waitingNotifications() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        try await subscribe(
            fixture, WireSubscription(subscriptionID: "s", kind: .zone, zoneID: WireZoneID("z")))
        let token = try await makeToken(fixture)
        for name in ["a", "b"] {
            _ = try await fixture.modify(.init(.create, HubFixture.record(name)))
        }
        await fixture.tellAll()
        #expect(await !poll(fixture, token).isEmpty)
        async let second = poll(fixture, token)
        try await fixture.waitForListeners()
        fixture.hub.mailboxes.releaseAll()
        #expect(await second.isEmpty)
    }

    @Test("the oldest devices of a user are forgotten for new ones")
    func devices() async throws {
        var limits = HubLimits()
        limits.devicesPerUser = 2
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        try await subscribe(
            fixture, WireSubscription(subscriptionID: "s", kind: .zone, zoneID: WireZoneID("z")))
        var tokens: [PushTokenResponse] = []
        for _ in 0..<3 {
            tokens.append(try await makeToken(fixture))
            fixture.advance(milliseconds: 1)
        }
        _ = try await fixture.modify(.init(.create, HubFixture.record("a")))
        await fixture.tellAll()
        #expect(await poll(fixture, tokens[0]) == [0])
        #expect(await poll(fixture, tokens[1]).count > 1)
        #expect(await poll(fixture, tokens[2]).count > 1)
    }

    @Test("addresses for uploads that nobody used go in the end")
    func oldUploads() async throws {
        let fixture = try await HubFixture()
        let place = WireAssetPlace(recordName: "a", fieldName: "photo")
        for _ in 0..<40 {
            let _: UploadTokensResponse = try await fixture.call(
                .uploadAssets, UploadRequest(places: [place]))
            fixture.advance(milliseconds: HubLimits().addressMilliseconds / 4)
        }
        let count = try fixture.hub.storage.readHere { try $0.count(.upload) }
        #expect(count < 20)
    }

    @Test("a query subscription tells of the records that it asks for")
    func queryNotification() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        var subscription = WireSubscription(subscriptionID: "q", kind: .query)
        subscription.query = ServiceQuery(
            recordType: "T", filters: [ServiceFilter(.field("n"), .equals, .int64(1))])
        subscription.firesOn = ["create"]
        try await subscribe(fixture, subscription)
        let token = try await makeToken(fixture)
        _ = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["n": .int64(2)])),
            .init(.create, HubFixture.record("b", ["n": .int64(1)])))
        let payload = try JSONObject(body: await poll(fixture, token)).requiredObject("ck")
        #expect(try payload.object("qry")?.text("rid") == "b")
        #expect(try payload.object("qry")?.integer("fo") == 1)
    }

    @Test("a subscription to an encrypted field keeps no other one from being told")
    func encryptedField() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        for (id, filters) in [
            ("first", [ServiceFilter(.field("n"), .equals, .int64(1))]), ("second", []),
        ] {
            var subscription = WireSubscription(subscriptionID: id, kind: .query)
            subscription.query = ServiceQuery(recordType: "T", filters: filters)
            try await subscribe(fixture, subscription)
        }
        let token = try await makeToken(fixture)
        var record = HubFixture.record("a", ["n": .int64(1)])
        record.fields["n"]?.isEncrypted = true
        _ = try await fixture.modify(.init(.create, record))
        await fixture.tellAll()
        let payload = try JSONObject(body: await poll(fixture, token)).requiredObject("ck")
        #expect(try payload.object("qry")?.text("sid") == "second")
    }

    @Test("subscriptions are listed, looked up and deleted, each by its user alone")
    func subscriptions() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let subscription = WireSubscription(
            subscriptionID: "s", kind: .zone, zoneID: WireZoneID("z"))
        try await subscribe(fixture, subscription)
        try await subscribe(fixture, subscription)
        let list: SubscriptionsResponse = try await fixture.call(
            .listSubscriptions, EmptyResponse())
        #expect(list.subscriptions.map(\.value) == [subscription])
        let others: SubscriptionsResponse = try await fixture.call(
            .lookupSubscriptions, LookupSubscriptionsRequest(subscriptionIDs: ["s"]),
            as: fixture.bob)
        #expect(others.subscriptions.first?.code == "NOT_FOUND")
        let operations: [ModifySubscriptionsRequest.Operation] = [
            .delete(subscriptionID: "s"), .delete(subscriptionID: "s"),
            .create(
                WireSubscription(subscriptionID: "x", kind: .zone, zoneID: WireZoneID("none"))),
        ]
        let reply: SubscriptionsResponse = try await fixture.call(
            .modifySubscriptions, ModifySubscriptionsRequest(operations: operations))
        #expect(reply.subscriptions.map(\.code) == [nil, "NOT_FOUND", "ZONE_NOT_FOUND"])
    }

    @Test func `a subscription whose query nothing can answer to fails alone`() async throws {
        let fixture = try await HubFixture()
        func operation(_ id: String, _ query: String) -> String {
            """
            {"operationType":"create","subscription":{"subscriptionID":"\(id)",
            "subscriptionType":"query","query":{\(query)}}}
            """
        }
        let good = """
            "recordType":"T","filterBy":[{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1}}]
            """
        let filters = [
            #"{"fieldName":"n","comparator":"NEARLY","fieldValue":{"value":1}}"#,
            #"{"comparator":"EQUALS","fieldValue":{"value":1}}"#, #"{"fieldName":"n"}"#,
            #"{"fieldName":"n","comparator":"NEAR","fieldValue":{"value":1}}"#,
            #"{"fieldName":"n","comparator":"LESS_THAN","fieldValue":{}}"#,
        ]
        // No record can have these types.
        let types = ["", "1", "_T", "T T", "\u{E9}t\u{E9}", String(repeating: "T", count: 256)]
        let wrong =
            filters.map { "\"recordType\":\"T\",\"filterBy\":[\($0)]" }
            + types.map { "\"recordType\":\"\($0)\"" }
        let operations =
            [operation("first", good)]
            + wrong.enumerated().map { operation("wrong\($0.offset)", $0.element) }
            + [operation("last", good)]
        // As it is: the description has no such queries.
        let response = await fixture.hub.respond(
            to: HubRequest(
                method: "POST", target: fixture.target(.modifySubscriptions, as: fixture.ada),
                headers: [],
                body: Array("{\"operations\":[\(operations.joined(separator: ","))]}".utf8)))
        guard case .bytes(let body) = response.body, response.status == 200 else {
            Issue.record("the request failed with \(response.status)")
            return
        }
        let codes = try SubscriptionsResponse(body: body).subscriptions.map(\.code)
        let refused: [String?] = Array(repeating: "BAD_REQUEST", count: wrong.count)
        #expect(codes == [nil] + refused + [nil])
        let list: SubscriptionsResponse = try await fixture.call(
            .listSubscriptions, EmptyResponse())
        let ids = list.subscriptions.compactMap(\.value?.subscriptionID).sorted()
        #expect(ids == ["first", "last"])
    }

    @Test("a file is uploaded, held by a record, and downloaded")
    func assets() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let place = WireAssetPlace(recordName: "a", fieldName: "photo")
        let uploads: UploadTokensResponse = try await fixture.call(
            .uploadAssets,
            UploadRequest(places: [place], zoneID: WireZoneID("z")))
        let address = try #require(uploads.tokens.first?.url)
        func request(_ method: String, _ url: String, _ body: [UInt8] = []) async -> HubResponse {
            let target = String(url.dropFirst("http://127.0.0.1".count))
            return await fixture.hub.respond(
                to: HubRequest(method: method, target: target, body: body))
        }
        let content: [UInt8] = Array("content".utf8)
        let response = await request("POST", address, content)
        guard case .bytes(let body) = response.body else { return }
        let file = try UploadedFileResponse(body: body).file
        #expect(file.size == 7 && file.fileChecksum == Digest.sha256(content).hexadecimal)
        #expect(await request("POST", address, content).status == 404)
        let wrongPlace = try await fixture.modify(
            .init(.create, HubFixture.record("b", ["photo": .asset(file)])))
        #expect(wrongPlace.first?.code == "BAD_REQUEST")
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["photo": .asset(file)])))
        guard case .asset(let asset)? = saved.first?.value?.fields["photo"]?.value else {
            Issue.record("The record holds no asset.")
            return
        }
        #expect(asset.receipt == nil)
        let url = try #require(asset.downloadURL).replacing("${f}", with: "photo.jpg")
        let download = await request("GET", url)
        guard case .file(let path) = download.body else {
            Issue.record("The answer is no file: \(download.status)")
            return
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(content))
        #expect(await request("GET", url.replacing("/photo.jpg", with: "x/f")).status == 404)
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        #expect(await request("GET", url).status == 404)
        let kept: AssetsResponse = try await fixture.call(
            .rereferenceAssets,
            RereferenceRequest(places: [place], zoneID: WireZoneID("z")))
        #expect(kept.assets.first?.value?.receipt != nil)
    }

    @Test("an upload is no rereference, and the other way round")
    func bodiesOfFiles() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let place = WireAssetPlace(recordName: "r", recordType: "Note", fieldName: "f")
        await #expect(throws: WireError.self) {
            let _: AssetsResponse = try await fixture.call(
                .rereferenceAssets, UploadRequest(places: [place], zoneID: WireZoneID("z")),
                mayBeWrong: true)
        }
        await #expect(throws: WireError.self) {
            let _: UploadTokensResponse = try await fixture.call(
                .uploadAssets, RereferenceRequest(places: [place], zoneID: WireZoneID("z")),
                mayBeWrong: true)
        }
    }

    @Test("health and metrics tell how the hub is, and no secrets")
    func watching() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let health = await fixture.hub.respond(to: HubRequest(method: "GET", target: "/healthz"))
        #expect(health.status == 200)
        let metrics = await fixture.hub.respond(to: HubRequest(method: "GET", target: "/metrics"))
        guard case .bytes(let body) = metrics.body else { return }
        let text = String(decoding: body, as: UTF8.self)
        #expect(text.contains("requests_total{call=\"zones/modify\",status=\"200\"} 1"))
        #expect(!text.contains(fixture.apiToken))
    }
}
