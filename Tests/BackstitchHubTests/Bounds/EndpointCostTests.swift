import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHubCore

/// The worst requests to each call, in two sizes: what they cost grows no faster than they do.
@Suite("What requests cost", .budgeted, .serialized)
struct EndpointCostTests {
    /// The worst request of a size to a hub that was made for it.
    private typealias Worst = @Sendable (Int) async throws -> RequestWork.Meter

    /// How much more a request of four times the size may cost.
    private static let growthMax = 5.0

    @Test func `every call has its worst request here`() {
        let missing = Endpoint.allCases.filter {
            Self.worst[$0] == nil && !Self.refused.contains($0)
        }
        #expect(missing == [])
    }

    @Test(arguments: Endpoint.allCases.filter { worst[$0] != nil })
    func `four times the size costs five times as much at most`(endpoint: Endpoint) async throws {
        let handler = try #require(HubEndpoint.at(endpoint)).handler
        for worst in try #require(Self.worst[endpoint]) {
            let size = 40
            let (small, large) = (try await worst(size), try await worst(4 * size))
            switch handler {
            case .reads, .readsUsers: break
            case .writes, .writesDevices:
                // The transaction of a write counts for whoever asked for it.
                let more = large.keysRead + large.keysWritten - small.keysRead - small.keysWritten
                #expect(more >= size, "\(endpoint) writes for nothing")
            }
            for (name, part) in Self.parts {
                let (less, more) = (Double(small[keyPath: part]), Double(large[keyPath: part]))
                // What does not depend on the size is not to weigh.
                #expect(
                    more <= Self.growthMax * max(less, 16),
                    "\(name) of \(endpoint): \(less), \(more)")
            }
        }
    }

    @Test(arguments: refused)
    func `calls that are not supported cost nothing`(endpoint: Endpoint) async throws {
        let hub = try await MeteredHub()
        let body = "{\"x\":[\((0..<1_000).map { "\($0)" }.joined(separator: ","))]}"
        let reply = await hub.send(endpoint, body)
        #expect(reply.status == 400)
        #expect(reply.meter.keysRead + reply.meter.keysWritten < 8)
    }

    private static let refused: [Endpoint] = ["records/resolve", "records/accept"]

    private static let parts: [(String, any KeyPath<RequestWork.Meter, Int> & Sendable)] = [
        ("records", \.records), ("keys read", \.keysRead), ("bytes read", \.bytesRead),
        ("comparisons", \.comparisons), ("keys written", \.keysWritten),
        ("bytes written", \.bytesWritten), ("bytes made", \.bytesMade),
    ]

    private static let worst: [Endpoint: [Worst]] = [
        .queryRecords: [queryOfWords, queryWithSort, queryOfLists],
        .lookupRecords: [lookup],
        .modifyRecords: [
            modifyWithReferences, modifyWithFailingChain, modifyWithCascade,
            modifyWithBlockedDeletes,
            modifyWithSubscriptions,
        ],
        .recordChanges: [{ try await feed(.recordChanges, $0) }],
        .zoneChanges: [{ try await feed(.zoneChanges, $0) }, feedOfZones],
        .databaseChanges: [{ try await zones(.databaseChanges, $0) }],
        .zonesChanges: [{ try await zones(.zonesChanges, $0) }],
        "zones/getCurrentSyncToken": [{ try await zones("zones/getCurrentSyncToken", $0) }],
        .listZones: [{ try await zones(.listZones, $0) }],
        .lookupZones: [
            { try await zones(.lookupZones, $0, body: list("zones", $0, #"{"zoneName":"z#"}"#)) }
        ],
        .modifyZones: [modifyZones, deleteZones],
        .listSubscriptions: [{ try await subscriptions(.listSubscriptions, $0, "{}") }],
        .lookupSubscriptions: [
            {
                try await subscriptions(
                    .lookupSubscriptions, $0, list("subscriptions", $0, #"{"subscriptionID":"s#"}"#)
                )
            }
        ],
        .modifySubscriptions: [modifySubscriptions],
        .currentUser: [{ try await users(.currentUser, $0, "{}") }],
        .caller: [{ try await users(.caller, $0, "{}") }],
        .discoverUsers: [
            { try await users(.discoverUsers, $0, "{}") },
            {
                try await users(
                    .discoverUsers, $0,
                    list("lookupInfos", $0, #"{"emailAddress":"u#@example.com"}"#))
            },
        ],
        .lookupUsersByEmail: [
            {
                try await users(
                    .lookupUsersByEmail, $0,
                    list("users", $0, #"{"emailAddress":"u#@example.com"}"#))
            }
        ],
        .lookupUsersByID: [
            {
                try await users(
                    .lookupUsersByID, $0, list("users", $0, #"{"userRecordName":"_u#"}"#))
            }
        ],
        .lookupContacts: [{ try await users(.lookupContacts, $0, "{}") }],
        .uploadAssets: [uploads],
        .rereferenceAssets: [rereference],
        .createToken: [{ try await tokens(.createToken, $0) }],
        .registerToken: [{ try await tokens(.registerToken, $0) }],
    ]

    private static func list(_ name: String, _ count: Int, _ item: String) -> String {
        let items = (0..<count).map { item.replacing("#", with: "\($0)") }
        return "{\"\(name)\":[\(items.joined(separator: ","))]}"
    }

    private static func words(_ count: Int) -> String {
        (0..<count).map { "w\($0)" }.joined(separator: " ")
    }

    // MARK: Records

    /// Records and words, each as many as the square root says: their product is not looked at.
    private static func queryOfWords(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        try await hub.save(size) {
            MeteredHub.record("r\($0)", MeteredHub.text("s", "one two three"))
        }
        let reply = await hub.send(
            .queryRecords,
            """
            {\(MeteredHub.zoneID),"query":{"recordType":"T","filterBy":[
            {"comparator":"CONTAINS_ANY_TOKENS","fieldName":"s",
            "fieldValue":{"type":"STRING","value":"\(words(size * 50))"}},
            {"comparator":"CONTAINS_ALL_TOKENS","fieldName":"s",
            "fieldValue":{"type":"STRING","value":"\(words(size * 50))"}}]}}
            """)
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func queryWithSort(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        try await hub.save(size) {
            MeteredHub.record("r\($0)", MeteredHub.text("s", "\(997 * $0 % 1_000)"))
        }
        let reply = await hub.send(
            .queryRecords,
            """
            {\(MeteredHub.zoneID),"resultsLimit":5,"query":{"recordType":"T",
            "sortBy":[{"fieldName":"s","ascending":false}]}}
            """)
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func queryOfLists(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        let numbers = (0..<size * 20).map(String.init).joined(separator: ",")
        try await hub.save(20) {
            MeteredHub.record("r\($0)", #""l":{"value":[\#(numbers)],"type":"INT64_LIST"}"#)
        }
        let others = (0..<size * 20).map { "\($0 + 1_000_000)" }.joined(separator: ",")
        let filters = ["LIST_CONTAINS_ANY", "NOT_LIST_CONTAINS_ALL", "IN"].map {
            """
            {"comparator":"\($0)","fieldName":"l","fieldValue":{"type":"INT64_LIST","value":[\(others)]}}
            """
        }
        let reply = await hub.send(
            .queryRecords,
            """
            {\(MeteredHub.zoneID),"query":{"recordType":"T","filterBy":[\(filters[1]),\(filters[0])]}}
            """)
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func lookup(_ size: Int) async throws -> RequestWork.Meter {
        var limits = HubLimits()
        limits.pageBytes = 2_000 * size
        let hub = try await MeteredHub(limits)
        let text = String(repeating: "x", count: 20_000)
        try await hub.save(1) { _ in MeteredHub.record("r", MeteredHub.text("s", text)) }
        let reply = await hub.send(
            .lookupRecords,
            "{\(MeteredHub.zoneID),\(list("records", size, #"{"recordName":"r"}"#).dropFirst())")
        #expect(reply.status == 200 && reply.body.count < 2 * limits.pageBytes + 80_000)
        return reply.meter
    }

    // MARK: Writes

    private static func modify(
        _ hub: MeteredHub, _ operations: [String]
    ) async -> (body: [UInt8], meter: RequestWork.Meter) {
        let reply = await hub.send(
            .modifyRecords,
            "{\(MeteredHub.zoneID),\"atomic\":false,\"operations\":[\(operations.joined(separator: ","))]}"
        )
        #expect(reply.status == 200)
        return (reply.body, reply.meter)
    }

    private static func operation(_ kind: String, _ record: String) -> String {
        #"{"operationType":"\#(kind)","record":\#(record)}"#
    }

    private static func modifyWithReferences(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        let references = (0..<size * 20).map { #"{"recordName":"t\#($0)","action":"DELETE_SELF"}"# }
        let list = references.joined(separator: ",")
        let record = MeteredHub.record("r", #""l":{"value":[\#(list)],"type":"REFERENCE_LIST"}"#)
        _ = await modify(hub, [operation("create", record)])
        return await modify(hub, [operation("forceReplace", MeteredHub.record("r"))]).meter
    }

    /// Each record needs the next one, and the last one fails; beside a delete with many sources.
    private static func modifyWithFailingChain(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        try await hub.save(1) { _ in MeteredHub.record("root") }
        try await hub.save(4 * size) {
            MeteredHub.record("c\($0)", MeteredHub.reference("p", "root", "DELETE_SELF"))
        }
        var operations = (0..<size).map {
            operation(
                "create",
                MeteredHub.record("n\($0)", MeteredHub.reference("next", "n\($0 + 1)", "VALIDATE")))
        }
        operations.append(operation("delete", MeteredHub.record("root")))
        return await modify(hub, operations).meter
    }

    private static func modifyWithCascade(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        try await hub.save(1) { _ in MeteredHub.record("root") }
        try await hub.save(4 * size) {
            MeteredHub.record("c\($0)", MeteredHub.reference("p", "root", "DELETE_SELF"))
        }
        return await modify(hub, [operation("delete", MeteredHub.record("root"))]).meter
    }

    /// Deletes that each become impossible because of the one before: `d1` deletes `e1`, which holds
    /// `d2`, and so on; the first one is held by a record that stays.
    private static func modifyWithBlockedDeletes(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        try await hub.save(size + 1) { MeteredHub.record("d\($0)") }
        try await hub.save(size) {
            MeteredHub.record(
                "e\($0)",
                MeteredHub.reference("a", "d\($0)", "DELETE_SELF") + ","
                    + MeteredHub.reference("b", "d\($0 + 1)", "VALIDATE"))
        }
        try await hub.save(1) { _ in
            MeteredHub.record("holder", MeteredHub.reference("b", "d0", "VALIDATE"))
        }
        return await modify(
            hub, (0..<size).map { operation("delete", MeteredHub.record("d\($0)")) }
        ).meter
    }

    /// Subscriptions of the same user that listens: telling is no part of the write.
    private static func modifyWithSubscriptions(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        await hub.send(.createToken, #"{"apnsEnvironment":"development"}"#)
        try await subscribe(hub, size)
        return await modify(
            hub, (0..<size).map { operation("create", MeteredHub.record("r\($0)")) }
        ).meter
    }

    // MARK: Feeds and zones

    private static func feed(_ endpoint: Endpoint, _ size: Int) async throws -> RequestWork.Meter {
        var limits = HubLimits()
        limits.recordsPerPage = size
        let hub = try await MeteredHub(limits)
        try await hub.save(2 * size) {
            MeteredHub.record("r\($0)", MeteredHub.text("s", words(20)))
        }
        let types = (0..<size * 20).map { "\"T\($0)\"" }.joined(separator: ",")
        let request =
            "{\(MeteredHub.zoneID),\"desiredRecordTypes\":[\(types)],\"resultsLimit\":\(size)}"
        let reply = await hub.send(
            endpoint, endpoint == .zoneChanges ? "{\"zones\":[\(request)]}" : request)
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func feedOfZones(_ size: Int) async throws -> RequestWork.Meter {
        var limits = HubLimits()
        limits.replyBytes = 1_100 * size
        let hub = try await MeteredHub(limits)
        let text = String(repeating: "x", count: 2_000)
        try await hub.save(4) { MeteredHub.record("r\($0)", MeteredHub.text("s", text)) }
        let zone = #"{"zoneID":{"zoneName":"z"}}"#
        let reply = await hub.send(.zoneChanges, list("zones", size, zone))
        #expect(reply.status == 200 && reply.body.count < limits.replyBytes)
        return reply.meter
    }

    private static func zones(
        _ endpoint: Endpoint, _ size: Int, body: String = "{}"
    ) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        await hub.send(.modifyZones, zoneOperations(size, "create"))
        let reply = await hub.send(endpoint, body)
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func zoneOperations(_ size: Int, _ kind: String) -> String {
        list(
            "operations", size,
            #"{"operationType":"\#(kind)","zone":{"zoneID":{"zoneName":"z#"}}}"#)
    }

    private static func modifyZones(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        let reply = await hub.send(.modifyZones, zoneOperations(size, "create"))
        #expect(reply.status == 200)
        return reply.meter
    }

    /// Zones and subscriptions, which a zone takes with it.
    private static func deleteZones(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        await hub.send(.modifyZones, zoneOperations(size, "create"))
        try await subscribe(hub, size)
        let reply = await hub.send(.modifyZones, zoneOperations(size, "delete"))
        #expect(reply.status == 200)
        return reply.meter
    }

    // MARK: Subscriptions, users, files, devices

    private static func subscribe(_ hub: MeteredHub, _ size: Int) async throws {
        let reply = await hub.send(.modifySubscriptions, subscriptionOperations(size))
        #expect(reply.status == 200)
    }

    private static func subscriptionOperations(_ size: Int) -> String {
        list(
            "operations", size,
            """
            {"operationType":"create","subscription":{"subscriptionType":"query",
            "subscriptionID":"s#","query":{"recordType":"T"}}}
            """)
    }

    private static func modifySubscriptions(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        return await hub.send(.modifySubscriptions, subscriptionOperations(size)).meter
    }

    private static func subscriptions(
        _ endpoint: Endpoint, _ size: Int, _ body: String
    ) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        try await subscribe(hub, size)
        let reply = await hub.send(endpoint, body)
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func users(
        _ endpoint: Endpoint, _ size: Int, _ body: String
    ) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        for number in 0..<size {
            _ = try await hub.fixture.hub.accounts.signIn(
                "u\(number)", container: HubFixture.container, environment: "development",
                emailAddress: "u\(number)@example.com")
        }
        let reply = await hub.send(endpoint, body)
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func uploads(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        let reply = await hub.send(
            .uploadAssets, list("tokens", size, #"{"recordName":"r#","fieldName":"f"}"#))
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func rereference(_ size: Int) async throws -> RequestWork.Meter {
        let hub = try await MeteredHub()
        try await hub.save(size) { MeteredHub.record("r\($0)", MeteredHub.text("s", words(50))) }
        let items = list("assets", size, #"{"recordName":"r#","fieldName":"s"}"#).dropFirst()
        let reply = await hub.send(.rereferenceAssets, "{\(MeteredHub.zoneID),\(items)")
        #expect(reply.status == 200)
        return reply.meter
    }

    private static func tokens(_ endpoint: Endpoint, _ size: Int) async throws -> RequestWork.Meter
    {
        var limits = HubLimits()
        limits.devicesPerUser = size
        let hub = try await MeteredHub(limits)
        var meter = RequestWork.Meter()
        for number in 0...size {
            meter = await hub.send(
                endpoint, #"{"apnsEnvironment":"development","apnsToken":"t\#(number)"}"#
            ).meter
        }
        return meter
    }
}
