import BackstitchCore
import BackstitchSync
import CloudKitWire
import Dispatch
import Foundation
import LMDB
import RawConnection
import TestBudget
import Testing
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// Requests that would have a hub do, keep or send more than a request may. What they cost is told by
/// meters, and how it grows is in `EndpointCostTests`.
@Suite("Attacks on a hub", .budgeted)
struct HubAttackTests {
    private static func codes(_ body: [UInt8]) -> [String?] {
        (try? RecordsResponse(body: body).records.map(\.code)) ?? ["unread"]
    }

    private static func modify(_ operations: String) -> String {
        "{\(MeteredHub.zoneID),\"atomic\":false,\"operations\":[\(operations)]}"
    }

    private static func operation(_ kind: String, _ record: String) -> String {
        #"{"operationType":"\#(kind)","record":\#(record)}"#
    }

    private static let allRecords = #"{"query":{"recordType":"T","sortBy":[{"fieldName":"s"}]}}"#

    // MARK: Reading

    @Test func `a query that takes too long is given up`() async throws {
        let hub = try await MeteredHub()
        try await hub.save(400, zone: nil) {
            MeteredHub.record("r\($0)", MeteredHub.text("s", "a"))
        }
        hub.fixture.steady.withLock { $0.step = 500 }
        let reply = await hub.send(.queryRecords, Self.allRecords)
        #expect(reply.status == 503)
        let error = try WireError(body: reply.body)
        #expect(error.code == .tryAgainLater && error.retryAfter != nil)
        #expect(reply.meter.records < 400)
        hub.fixture.steady.withLock { $0.step = 0 }
        #expect(await hub.send(.queryRecords, Self.allRecords).status == 200)
    }

    @Test func `nothing is read for a client that has gone`() async throws {
        let hub = try await MeteredHub()
        try await hub.save(50, zone: nil) { MeteredHub.record("r\($0)") }
        let request = HubRequest(
            method: "POST", target: hub.fixture.target(.queryRecords, as: hub.fixture.ada),
            body: Array(Self.allRecords.utf8))
        let work = hub.fixture.hub.makeWork(for: request)
        work.leave()
        #expect(await hub.fixture.hub.respond(to: request, work).status == 503)
        #expect(work.meter.records == 0)
    }

    @Test func `a hub that ends refuses what waits, and what comes`() async throws {
        let hub = try await MeteredHub()
        hub.fixture.hub.refuseWork()
        #expect(await hub.send(.listZones, "{}").status == 503)
        let write = Self.modify(Self.operation("create", MeteredHub.record("a")))
        #expect(await hub.send(.modifyRecords, write).status == 503)
    }

    @Test func `a query with too many filters or sort keys is refused`() async throws {
        let hub = try await MeteredHub()
        let filter = #"{"comparator":"EQUALS","fieldName":"s","fieldValue":{"value":"a"}}"#
        let filters = Array(repeating: filter, count: 101).joined(separator: ",")
        let sorts = Array(repeating: #"{"fieldName":"s","ascending":true}"#, count: 11).joined(
            separator: ",")
        for part in ["\"filterBy\":[\(filters)]", "\"sortBy\":[\(sorts)]"] {
            let reply = await hub.send(.queryRecords, #"{"query":{"recordType":"T",\#(part)}}"#)
            #expect(try WireError(body: reply.body).code == .limitExceeded)
        }
    }

    @Test func `a body with too many values is refused unparsed`() async throws {
        var limits = HubLimits()
        limits.valuesPerBody = 1_000
        let hub = try await MeteredHub(limits)
        func body(_ values: Int) -> String {
            let list = Array(repeating: "1", count: values).joined(separator: ",")
            let record = MeteredHub.record("a", #""l":{"value":[\#(list)],"type":"INT64_LIST"}"#)
            return Self.modify(Self.operation("forceUpdate", record))
        }
        #expect(Self.codes(await hub.send(.modifyRecords, body(900)).body) == [nil])
        let reply = await hub.send(.modifyRecords, body(1_100))
        #expect(try WireError(body: reply.body).code == .limitExceeded)
        // Commas in texts are none between values.
        let text = String(repeating: #",[:\""#, count: 1_000)
        let record = MeteredHub.record("b", MeteredHub.text("s", text))
        let write = Self.modify(Self.operation("create", record))
        #expect(Self.codes(await hub.send(.modifyRecords, write).body) == [nil])
    }

    // MARK: Replies

    private static func largeRecords(_ count: Int) async throws -> MeteredHub {
        var limits = HubLimits()
        limits.pageBytes = 50_000
        let hub = try await MeteredHub(limits)
        let text = String(repeating: "x", count: 20_000)
        try await hub.save(count) { MeteredHub.record("r\($0)", MeteredHub.text("s", text)) }
        return hub
    }

    @Test(arguments: ["", #","sortBy":[{"fieldName":"s","ascending":false}]"#])
    func `a query ends its page by bytes, and goes on`(sort: String) async throws {
        let hub = try await Self.largeRecords(10)
        var marker = ""
        var names: [String] = []
        for _ in 0..<10 {
            let reply = await hub.send(
                .queryRecords,
                #"{\#(MeteredHub.zoneID),"query":{"recordType":"T"\#(sort)}\#(marker)}"#)
            #expect(reply.body.count < 80_000)
            let page = try RecordsResponse(body: reply.body)
            names += page.records.compactMap(\.value?.recordName)
            guard let next = page.continuationMarker else { break }
            marker = #","continuationMarker":"\#(next)""#
        }
        #expect(names == (0..<10).map { "r\($0)" })
    }

    @Test func `a lookup tells what its reply has no room for`() async throws {
        let hub = try await Self.largeRecords(1)
        let names = Array(repeating: #"{"recordName":"r0"}"#, count: 200).joined(separator: ",")
        let reply = await hub.send(.lookupRecords, "{\(MeteredHub.zoneID),\"records\":[\(names)]}")
        #expect(reply.body.count < 120_000)
        #expect(Self.codes(reply.body).count(where: { $0 == nil }) == 3)
        #expect(Self.codes(reply.body).last == "LIMIT_EXCEEDED")
    }

    @Test func `the client asks again for what had no room`() async throws {
        let hub = try await Self.largeRecords(8)
        let service = try CloudKitRecordService(
            hub.fixture.configuration(), client: DirectClient(hub.fixture.hub))
        let names = (0..<8).map { "r\($0)" }
        let results = try await service.lookUpRecords(names, in: ZoneID("z"))
        let found = results.map { result in
            if case .found(let record) = result { record.recordName } else { "" }
        }
        #expect(found == names)
    }

    @Test func `a change that has no room is told without fields`() async throws {
        let hub = try await Self.largeRecords(8)
        let updates = (0..<8).map { Self.operation("forceUpdate", MeteredHub.record("r\($0)")) }
        let reply = await hub.send(
            .modifyRecords, Self.modify(updates.joined(separator: ",")))
        let records = try RecordsResponse(body: reply.body).records
        #expect(records.map(\.value?.recordName) == (0..<8).map { "r\($0)" })
        #expect(records.count(where: { $0.value?.fields.isEmpty == false }) == 3)
    }

    // MARK: Writing

    @Test func `a record has so many sources and no more`() async throws {
        var limits = HubLimits()
        limits.sourcesPerRecord = 5
        let hub = try await MeteredHub(limits)
        try await hub.save(1) { _ in MeteredHub.record("root") }
        let creates = (0..<7).map {
            Self.operation(
                "create",
                MeteredHub.record("c\($0)", MeteredHub.reference("p", "root", "DELETE_SELF")))
        }
        let first = await hub.send(.modifyRecords, Self.modify(creates.joined(separator: ",")))
        #expect(
            Self.codes(first.body)
                == [nil, nil, nil, nil, nil, "LIMIT_EXCEEDED", "LIMIT_EXCEEDED"])
        let again = Self.operation(
            "forceUpdate", MeteredHub.record("c0", MeteredHub.text("s", "new")))
        let second = await hub.send(.modifyRecords, Self.modify(again + "," + creates[6]))
        #expect(Self.codes(second.body) == [nil, "LIMIT_EXCEEDED"])
    }

    @Test func `a delete that would take too many with it fails alone`() async throws {
        var limits = HubLimits()
        limits.cascadedRecords = 5
        let hub = try await MeteredHub(limits)
        try await hub.save(3) { MeteredHub.record("root\($0)") }
        for (root, count) in [4, 6, 2].enumerated() {
            try await hub.save(count) {
                MeteredHub.record(
                    "c\(root)-\($0)", MeteredHub.reference("p", "root\(root)", "DELETE_SELF"))
            }
        }
        let deletes = (0..<3).map { Self.operation("delete", MeteredHub.record("root\($0)")) }
        let reply = await hub.send(.modifyRecords, Self.modify(deletes.joined(separator: ",")))
        #expect(Self.codes(reply.body) == [nil, "LIMIT_EXCEEDED", "LIMIT_EXCEEDED"])
        let alone = await hub.send(.modifyRecords, Self.modify(deletes[2]))
        #expect(Self.codes(alone.body) == [nil])
        #expect(try hub.fixture.wrongSpace() == [])
    }

    @Test func `operations that are too much at once succeed alone`() async throws {
        var limits = HubLimits()
        limits.modifiedBytes = 50_000
        limits.linksPerRequest = 10
        let hub = try await MeteredHub(limits)
        let text = String(repeating: "x", count: 30_000)
        let large = (0..<3).map {
            Self.operation("create", MeteredHub.record("r\($0)", MeteredHub.text("s", text)))
        }
        let reply = await hub.send(.modifyRecords, Self.modify(large.joined(separator: ",")))
        #expect(Self.codes(reply.body) == [nil, "LIMIT_EXCEEDED", "LIMIT_EXCEEDED"])
        #expect(Self.codes(await hub.send(.modifyRecords, Self.modify(large[1])).body) == [nil])
        let targets = (0..<12).map { #"{"recordName":"t\#($0)","action":"DELETE_SELF"}"# }
            .joined(separator: ",")
        let list = MeteredHub.record("l", #""l":{"value":[\#(targets)],"type":"REFERENCE_LIST"}"#)
        let linked = Self.operation("create", list)
        let small = Self.operation("create", MeteredHub.record("m"))
        #expect(
            Self.codes(await hub.send(.modifyRecords, Self.modify(small + "," + linked)).body)
                == [nil, "LIMIT_EXCEEDED"])
        #expect(Self.codes(await hub.send(.modifyRecords, Self.modify(linked)).body) == [nil])
    }

    // MARK: What is kept

    @Test func `zones, subscriptions and their bytes are limited`() async throws {
        var limits = HubLimits()
        limits.zonesPerDatabase = 4
        limits.subscriptionsPerUser = 2
        let hub = try await MeteredHub(limits)
        func zones(_ operations: [(String, String)]) async throws -> [String?] {
            let list = operations.map {
                #"{"operationType":"\#($0.0)","zone":{"zoneID":{"zoneName":"\#($0.1)"}}}"#
            }.joined(separator: ",")
            let reply = await hub.send(.modifyZones, "{\"operations\":[\(list)]}")
            return try ZonesResponse(body: reply.body).zones.map(\.code)
        }
        // The default zone and `z` are there.
        let made = try await zones([("create", "a"), ("create", "b"), ("create", "c")])
        #expect(made == [nil, nil, "LIMIT_EXCEEDED"])
        // A deleted zone makes room for one other.
        let again = try await zones([("delete", "a"), ("create", "c"), ("create", "a")])
        #expect(again == [nil, nil, "LIMIT_EXCEEDED"])
        func subscribe(_ id: String, _ info: String = "") async throws -> [String?] {
            let reply = await hub.send(
                .modifySubscriptions,
                """
                {"operations":[{"operationType":"create","subscription":{"subscriptionID":"\(id)",
                "subscriptionType":"query","query":{"recordType":"T"}\(info)}}]}
                """)
            return try SubscriptionsResponse(body: reply.body).subscriptions.map(\.code)
        }
        let body = String(repeating: "x", count: 20_000)
        let info = #","notificationInfo":{"alertBody":"\#(body)"}"#
        #expect(try await subscribe("large", info) == ["LIMIT_EXCEEDED"])
        #expect(try await subscribe("a") == [nil])
        #expect(try await subscribe("b") == [nil])
        #expect(try await subscribe("c") == ["LIMIT_EXCEEDED"])
        #expect(try await subscribe("a") == [nil])
    }

    private static func rows(_ hub: MeteredHub, _ tables: HubKey.Table...) throws -> Int {
        try hub.fixture.hub.storage.readHere { transaction in
            try tables.reduce(0) { try $0 + transaction.count($1) }
        }
    }

    private static func zone(_ kind: String, _ name: String) -> String {
        #"{"operationType":"\#(kind)","zone":{"zoneID":{"zoneName":"\#(name)"}}}"#
    }

    @Test func `zones that are filled and deleted again don't fill the disk`() async throws {
        let hub = try await MeteredHub()
        let links = (0..<20).map { MeteredHub.reference("f\($0)", "t\($0)", "DELETE_SELF") }
            .joined(separator: ",")
        for _ in 0..<6 {
            await hub.send(.modifyZones, "{\"operations\":[\(Self.zone("create", "q"))]}")
            try await hub.save(200, zone: "q") { MeteredHub.record("r\($0)", links) }
            await hub.send(.modifyZones, "{\"operations\":[\(Self.zone("delete", "q"))]}")
            // A record, its places in the feed and among those of its type, and its links.
            #expect(try Self.rows(hub, .record, .feed, .type, .link) <= 200 * (3 + 20))
        }
    }

    @Test func `many deleted zones don't keep the remains of others`() async throws {
        let hub = try await MeteredHub()
        let operations = (0..<100).map { _ in
            Self.zone("create", "q") + "," + Self.zone("delete", "q")
        }
        for _ in 0..<5 {
            let reply = await hub.send(
                .modifyZones, "{\"operations\":[\(operations.joined(separator: ","))]}")
            #expect(reply.status == 200)
        }
        #expect(try Self.rows(hub, .endedZone) == 0)
    }

    @Test func `a deleted zone takes its subscriptions with it, and no others`() async throws {
        let hub = try await MeteredHub()
        let zones = ["a", "b", "c"]
        let creates = zones.map { Self.zone("create", $0) }.joined(separator: ",")
        await hub.send(.modifyZones, "{\"operations\":[\(creates)]}")
        let subscriptions = zones.map {
            """
            {"operationType":"create","subscription":{"subscriptionID":"\($0)",
            "subscriptionType":"zone","zoneID":{"zoneName":"\($0)"}}}
            """
        }
        await hub.send(
            .modifySubscriptions, "{\"operations\":[\(subscriptions.joined(separator: ","))]}")
        // One that can't be deleted keeps what it has.
        let deletes = ["a", "none", "c"].map { Self.zone("delete", $0) }.joined(separator: ",")
        await hub.send(.modifyZones, "{\"operations\":[\(deletes)]}")
        let left = try SubscriptionsResponse(body: await hub.send(.listSubscriptions, "{}").body)
        #expect(left.subscriptions.map(\.value?.subscriptionID) == ["b"])
    }

    private static func upload(_ hub: MeteredHub, _ count: Int) async throws -> [String] {
        let places = (0..<count).map { #"{"recordName":"r\#($0)","fieldName":"f"}"# }
        let reply = await hub.send(
            .uploadAssets, "{\(MeteredHub.zoneID),\"tokens\":[\(places.joined(separator: ","))]}")
        guard reply.status == 200 else {
            return ["\(try WireError(body: reply.body).serverErrorCode)"]
        }
        return try UploadTokensResponse(body: reply.body).tokens.map { HostileWorld.path($0.url) }
    }

    private static func put(_ hub: MeteredHub, _ target: String, _ count: Int) async -> Int {
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: target.hashValue), count: count)
        return await hub.send(HubRequest(method: "POST", target: target, body: body)).status
    }

    @Test func `of several uploads to one address one is taken`() async throws {
        let hub = try await MeteredHub()
        let target = try #require(try await Self.upload(hub, 1).first)
        let statuses = await withTaskGroup(of: Int.self) { group in
            for count in 1...6 { group.addTask { await Self.put(hub, target, count) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [200, 404, 404, 404, 404, 404])
    }

    @Test func `uploads share the space that is left`() async throws {
        var limits = HubLimits()
        limits.privateDatabaseBytes = 10_000
        limits.uploadsPerUser = 12
        let hub = try await MeteredHub(limits)
        var statuses: [Int] = []
        for target in try await Self.upload(hub, 6) {
            statuses.append(await Self.put(hub, target, 3_000))
        }
        #expect(statuses == [200, 200, 200, 413, 413, 413])
        #expect(try await Self.upload(hub, 9) == ["THROTTLED"])
        hub.fixture.advance(
            milliseconds: limits.addressMilliseconds + limits.unusedAssetMilliseconds)
        #expect(try await Self.upload(hub, 9).count == 9)
    }

    @Test func `the space of an upload is kept for it from its head on`() async throws {
        var limits = HubLimits()
        limits.privateDatabaseBytes = 10_000
        let hub = try await MeteredHub(limits)
        let targets = try await Self.upload(hub, 2)
        func admit(_ target: String) async -> HubRequest? {
            var head = HubRequest(method: "POST", target: target)
            guard case .take = await hub.fixture.admission(of: &head, length: 6_000)
            else { return nil }
            return head
        }
        let first = try #require(await admit(targets[0]))
        #expect(await admit(targets[1]) == nil)
        hub.fixture.hub.admissions.abandon(first)
        #expect(await admit(targets[1]) != nil)
    }

    @Test func `the oldest of too many answers are forgotten`() async throws {
        var limits = HubLimits()
        limits.ledgerBytesPerUser = AnswerLedger.answerBytesMax + 2_000
        let hub = try await MeteredHub(limits)
        for number in 0..<50 {
            let headers = [
                HubRequest.Header(WireHeader.requestID, "request \(number)"),
                HubRequest.Header(
                    WireHeader.extensions, WireExtension.header(WireExtension.allCases)),
            ]
            let write = Self.modify(Self.operation("create", MeteredHub.record("r\(number)")))
            for _ in 0..<2 {
                let reply = await hub.send(.modifyRecords, headers: headers, write)
                #expect(Self.codes(reply.body) == [nil])
            }
        }
        let count = try Self.rows(hub, .ledger, .ledgerTime)
        #expect((2...40).contains(count) && count.isMultiple(of: 2))
    }

    @Test func `answers count for more than their bytes, of which they may have few`() async throws
    {
        var limits = HubLimits()
        limits.ledgerBytesPerUser = AnswerLedger.answerBytesMax + 8_000
        let hub = try await MeteredHub(limits)
        for number in 0..<60 {
            let headers = [
                HubRequest.Header(WireHeader.requestID, "request \(number)"),
                HubRequest.Header(
                    WireHeader.extensions, WireExtension.header(WireExtension.allCases)),
            ]
            let reply = await hub.send(.modifyRecords, headers: headers, Self.modify(""))
            #expect(reply.status == 200)
        }
        #expect(try (1...20).contains(Self.rows(hub, .ledger)))
    }

    @Test func `boxes of devices that do not ask are forgotten`() async throws {
        let mailboxes = NotificationMailboxes()
        let (ada, bob) = (
            CourierListener(realm: 1, userRecordName: "a"),
            CourierListener(realm: 1, userRecordName: "b")
        )
        for number in 0..<100 { mailboxes.expect([UInt8(number)], of: ada, now: Int64(number)) }
        let told = Locked<CourierNotification?>(nil)
        mailboxes.wait([200], of: bob, now: 0) { notification in told.withLock { $0 = notification }
        }
        #expect(mailboxes.waiterCount == 1)
        mailboxes.forget(before: 49)
        #expect(mailboxes.boxCount == 51)
        mailboxes.forget(before: 1_000)
        #expect(mailboxes.boxCount == 1 && !mailboxes.mayListen(realm: 1, user: "a"))
        mailboxes.post(CourierNotification(subject: "s", payload: [1]), to: [200])
        #expect(told.withLock { $0 }?.payload == [1])
        mailboxes.forget(before: 2_000)
        #expect(mailboxes.boxCount == 0 && !mailboxes.mayListen(realm: 1, user: nil))
    }

    // MARK: Heads and connections

    @Test func `a large body is read for those alone who may send it`() async throws {
        let hub = try await MeteredHub()
        let fixture = hub.fixture
        func bytesMax(_ target: String, _ headers: [HubRequest.Header] = []) async -> Int? {
            var head = HubRequest(method: "POST", target: target, headers: headers)
            guard case .take(let place) = await fixture.admission(of: &head, length: 10 << 20)
            else { return nil }
            return place.bytesMax
        }
        let limits = HubLimits()
        let call = fixture.target(.modifyRecords, as: fixture.ada)
        #expect(await bytesMax(call) == limits.bodyBytes)
        #expect(
            await bytesMax(fixture.target(.queryRecords, as: fixture.ada)) == limits.callBodyBytes)
        #expect(
            await bytesMax(fixture.target(.queryRecords, in: .public)) == limits.anonymousBodyBytes)
        #expect(await bytesMax(fixture.target(.queryRecords)) == nil)
        #expect(await bytesMax(call.replacing("ckAPIToken=", with: "ckAPIToken=x")) == nil)
        #expect(await bytesMax(call, [HubRequest.Header(WireHeader.keyID, "none")]) == nil)
        #expect(await bytesMax("/upload/1/none") == nil)
    }

    /// Has bytes sent by a thread of its own, and tells all that comes.
    private static func exchange(
        _ server: HubServer, _ body: @escaping @Sendable (String) throws -> String
    ) async throws -> String {
        let url = server.address
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body(url) }) }
        }
    }

    @Test func `whoever has no credentials is refused at the head`() async throws {
        let hub = try await MeteredHub()
        let server = try HubServer(hub.fixture.hub)
        let target = hub.fixture.target(.modifyRecords).replacing(
            "ckAPIToken=", with: "ckAPIToken=x")
        let reply = try await Self.exchange(server) { url in
            let connection = try RawConnection(url: url)
            connection.send(
                Array("POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 15000000\r\n\r\n".utf8)
            )
            return String(decoding: connection.rest(), as: UTF8.self)
        }
        #expect(reply.hasPrefix("HTTP/1.1 401 "))
        await server.stop()
    }

    @Test(.budgeted(places: 2))
    func `idle connections make room for others`() async throws {
        let hub = try await MeteredHub()
        var configuration = HubServer.Configuration()
        configuration.limits.connections = 8
        let server = try HubServer(hub.fixture.hub, configuration: configuration)
        let reply = try await Self.exchange(server) { url in
            let idle = try (0..<100).map { _ in try RawConnection(url: url) }
            let connection = try RawConnection(url: url)
            connection.send(
                Array("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
            let reply = String(decoding: connection.rest(), as: UTF8.self)
            return withExtendedLifetime(idle) { reply }
        }
        #expect(reply.hasPrefix("HTTP/1.1 200 "))
        await server.stop()
    }

    @Test func `too many requests under way have to wait`() async throws {
        let hub = try await MeteredHub()
        let gate = hub.fixture.hub.gate
        let user = "user \(1) \(hub.fixture.ada.userRecordName)"
        for _ in 0..<HubLimits().requestsPerUser { #expect(gate.enter(user, max: 64)) }
        let write = Self.modify(Self.operation("create", MeteredHub.record("a")))
        #expect(await hub.send(.modifyRecords, write).status == 429)
        gate.leave(user)
        #expect(await hub.send(.modifyRecords, write).status == 200)
        #expect(gate.count(of: user) == 63)
    }

    @Test func `bodies in memory have a budget, of which nobody has all`() {
        let budget = ByteBudget(bytes: 100, perClient: 60)
        #expect(budget.take(50, for: "a") && !budget.take(20, for: "a"))
        #expect(budget.take(50, for: "b") && !budget.take(1, for: "c"))
        budget.give(50, of: "a")
        #expect(budget.take(40, for: "c") && budget.taken == 90)
    }
}
