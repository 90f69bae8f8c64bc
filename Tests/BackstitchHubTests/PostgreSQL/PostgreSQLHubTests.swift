import BackstitchCore
import BackstitchHub
import CloudKitWire
import Foundation
import PostgreSQLCluster
import TestBudget
import Testing
import Waiting
import WireCrypto

@testable import BackstitchHubCore
@testable import BackstitchHubPostgreSQL

/// Hubs that share a database.
@Suite(
    "Hubs on PostgreSQL", .budgeted,
    .enabled(if: PostgreSQLCluster.isInstalled, "PostgreSQL is missing: Tests/prepare.sh --all"))
struct PostgreSQLHubTests {
    private let schema: TemporarySchema
    private let storage: PostgreSQLHubStorage
    private let fixture: HubFixture

    init() async throws {
        schema = try TemporarySchema()
        storage = try schema.storage()
        fixture = try await HubFixture(storage: storage)
        try await fixture.makeZones("z")
    }

    /// Another hub with the same data, which its maker closes.
    private func makeOther() async throws -> Hub {
        try await fixture.makeHub(over: schema.storage())
    }

    private func head(_ endpoint: Endpoint, _ headers: [HubRequest.Header] = []) -> HubRequest {
        HubRequest(
            method: "POST", target: fixture.target(endpoint, as: fixture.ada), headers: headers)
    }

    /// The reply to a request whose head was admitted, and the round trips for the one and the other.
    private func send(
        _ endpoint: Endpoint, _ body: String, headers: [HubRequest.Header] = [], to hub: Hub? = nil
    ) async -> (status: Int, body: [UInt8], admission: Int, request: Int) {
        let hub = hub ?? fixture.hub
        var request = head(endpoint, headers)
        let start = storage.roundTripCount
        let atOnce = hub.admissions.admissionAtOnce(of: &request, length: body.utf8.count)
        let admission =
            if let atOnce { atOnce } else {
                await hub.admissions.admission(of: &request, length: body.utf8.count)
            }
        guard case .take = admission else { return (0, [], 0, 0) }
        let middle = storage.roundTripCount
        request.body = .bytes(Array(body.utf8))
        let reply = await hub.respond(to: request)
        guard case .bytes(let bytes) = reply.body else { return (reply.status, [], 0, 0) }
        return (reply.status, bytes, middle - start, storage.roundTripCount - middle)
    }

    private static func saves(_ count: Int, _ kind: String = "forceUpdate") -> String {
        let operations = (0..<count).map {
            #"{"operationType":"\#(kind)","record":\#(MeteredHub.record("r\($0)"))}"#
        }
        return "{\(MeteredHub.zoneID),\"operations\":[\(operations.joined(separator: ","))]}"
    }

    /// The headers of a request whose answer is kept.
    private static func named(_ name: String) -> [HubRequest.Header] {
        [
            HubRequest.Header(WireHeader.requestID, name),
            HubRequest.Header(
                WireHeader.extensions, WireExtension.header(WireExtension.allCases)),
        ]
    }

    @Test func `a look at all rows finds what is wrong in a few round trips`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("look-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        for _ in 0..<8 { _ = await send(.modifyRecords, Self.saves(200)) }
        _ = await send(.modifyRecords, Self.saves(200, "forceDelete"))
        func look() throws -> HubDiagnosis {
            try schema.address.diagnose(files: folder, readsFiles: true)
        }
        let healthy = try look()
        #expect(healthy.findings == [])
        #expect(healthy.records == 200)
        let storage = try schema.storage()
        defer { storage.close() }
        let again = try HubDiagnosis(of: storage, MemoryHubFiles())
        #expect(again == healthy)
        #expect(storage.missCount == 0)
        #expect(storage.roundTripCount <= 1 + 256 + 2 * (1 + healthy.rows / 1_000))
        let place = ZonePlace(partition: Partition(number: 99), number: 1)
        try await storage.write(to: [place.partition]) { transaction in
            try transaction.put(StoredRecord.key(place, "a"), [1, 2, 3])
            try transaction.put(place.key(.feed).adding(UInt64(7)), Array("nobody".utf8))
        }
        let damaged = try look()
        #expect(damaged.findings.count == 2)
        #expect(damaged.records == 201)
    }

    @Test func `common requests take as many round trips as they should`() async throws {
        try fixture.hub.beginServing()
        // The first look at what others did is over then.
        try await eventually { storage.cleansUp }
        // Where the zone is, and whom the credentials prove, has to be looked up once.
        _ = await send(.modifyRecords, Self.saves(1))
        try await eventually { await send(.currentUser, "{}").admission == 0 }
        let misses = storage.missCount
        for count in [1, 200] {
            let named = Self.named("name \(count)")
            _ = await send(.lookupRecords, "{\(MeteredHub.zoneID),\"records\":[]}")
            let modify = await send(.modifyRecords, Self.saves(count), headers: named)
            #expect(modify.status == 200 && modify.admission == 0 && modify.request == 2)
            let again = await send(.modifyRecords, Self.saves(count), headers: named)
            #expect(again.body == modify.body && again.admission == 0 && again.request == 1)
            for (endpoint, body) in [
                (Endpoint.recordChanges, "{\(MeteredHub.zoneID)}"),
                (.zoneChanges, "{\"zones\":[{\(MeteredHub.zoneID)}]}"), (.databaseChanges, "{}"),
                (.listZones, "{}"),
                (.lookupRecords, "{\(MeteredHub.zoneID),\"records\":[{\"recordName\":\"r0\"}]}"),
                (.queryRecords, "{\(MeteredHub.zoneID),\"query\":{\"recordType\":\"T\"}}"),
            ] {
                _ = await send(endpoint, body)
                let cost = await send(endpoint, body)
                #expect(cost.status == 200 && cost.request == 1, "\(endpoint)")
                #expect(cost.admission == 0, "\(endpoint)")
            }
        }
        #expect(storage.missCount == misses)
    }

    @Test func `a request that comes again at another hub gets its first answer`() async throws {
        let other = try await makeOther()
        defer { other.close() }
        let named = Self.named("once")
        let first = await send(.modifyRecords, Self.saves(3, "create"), headers: named)
        let second = await send(.modifyRecords, Self.saves(3, "create"), headers: named, to: other)
        #expect(first.status == 200 && second.status == 200 && first.body == second.body)
        let feed = await send(.recordChanges, "{\(MeteredHub.zoneID)}", to: other)
        let records = try JSONObject(body: feed.body).array("records")
        #expect(records?.count == 3)
    }

    @Test func `a credential that another hub takes back is good no more`() async throws {
        let other = try await makeOther()
        defer { other.close() }
        try fixture.hub.beginServing()
        try await eventually { storage.tellsOfOthers }
        try await eventually {
            _ = await send(.currentUser, "{}")
            return await send(.currentUser, "{}").admission == 0
        }
        #expect(try await other.accounts.revoke(fixture.ada.webAuthToken))
        try await eventually { await send(.currentUser, "{}").status == 401 }
    }

    @Test func `a hub that does not hear of others looks at credentials each time`() async throws {
        // It does not listen. Where the database is has to be learned once.
        let other = try await makeOther()
        defer { other.close() }
        for trips in [2, 1, 1] {
            #expect(await send(.currentUser, "{}").admission == trips)
        }
        try fixture.hub.beginServing()
        try await eventually { storage.tellsOfOthers }
        try await eventually { await send(.currentUser, "{}").admission == 0 }
        try schema.endSessions()
        #expect(try await other.accounts.revoke(fixture.ada.webAuthToken))
        try await eventually { await send(.currentUser, "{}").status == 401 }
    }

    @Test func `one of the hubs cleans up, for what others write too`() async throws {
        let cleaning = try schema.storage()
        let cleaner = try await fixture.makeHub(over: cleaning)
        try cleaner.beginServing()
        try await eventually { cleaning.cleansUp }
        try fixture.hub.beginServing()
        try await eventually { storage.tellsOfOthers }
        #expect(!storage.cleansUp)

        // Ada deletes a zone, and from then on only Bob writes, at the hub that does not clean up.
        #expect(await send(.modifyRecords, Self.saves(200)).status == 200)
        let deletion =
            #"{"operations":[{"operationType":"delete","zone":{\#(MeteredHub.zoneID)}}]}"#
        #expect(await send(.modifyZones, deletion).status == 200)
        let partition = try fixture.partition(of: fixture.ada)
        func ended() async throws -> Bool {
            try await storage.read { transaction in
                var isEmpty = true
                try transaction.scan(HubKey(partition, .endedZone), from: nil) { _, _ in
                    isEmpty = false
                    return false
                }
                return isEmpty
            }
        }
        fixture.advance(milliseconds: 24 * 3_600_000)
        let body = Array(
            #"{"operations":[{"operationType":"forceUpdate","record":\#(MeteredHub.record("b"))}]}"#
                .utf8)
        try await eventually {
            let reply = await fixture.send(.modifyRecords, as: fixture.bob, body: body)
            #expect(reply.status == 200)
            return try await ended()
        }
        #expect(!storage.cleansUp)
        cleaner.close()
        try await eventually { storage.cleansUp }
    }

    @Test func `a file goes up at one hub to an address of another one, and once`() async throws {
        let other = try await makeOther()
        defer { other.close() }
        let content = Array("a file".utf8)
        let places = """
            {\(MeteredHub.zoneID),"tokens":[{"recordName":"a","recordType":"T","fieldName":"f"}]}
            """
        let reply = await send(.uploadAssets, places)
        let url = try #require(
            JSONObject(body: reply.body).array("tokens")?.first?.value["url"].text)
        let target = HostileWorld.path(url)
        // Both hubs get it at once: one of them takes it.
        let hubs = [fixture.hub, other]
        let statuses = await withTaskGroup(of: Int.self) { group in
            for hub in hubs {
                group.addTask {
                    let request = HubRequest(method: "POST", target: target, body: content)
                    return await hub.respond(to: request).status
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [200, 404])
        let partition = try fixture.partition(of: fixture.ada)
        let file = try #require(HubFile(partition, Digest.sha256(content).hexadecimal))
        for hub in hubs { #expect(try hub.assets.read(file, 0..<10) == content) }
    }

    @Test func `hubs with a folder each answer 404 for each other's files, and a look says so`()
        async throws
    {
        let folder = StorageEngine.TemporaryFolder()
        let otherStorage = try schema.storage()
        let other = try await Hub(
            storage: otherStorage, files: FolderFiles(folder: folder.path, isShared: true),
            configuration: fixture.hub.configuration, platform: .system)
        defer { other.close() }
        let places = """
            {\(MeteredHub.zoneID),"tokens":[{"recordName":"a","recordType":"T","fieldName":"f"}]}
            """
        let tokens = try JSONObject(body: await send(.uploadAssets, places).body).array("tokens")
        let url = try #require(tokens?.first?.value["url"].text)
        let kept = await fixture.hub.respond(
            to: HubRequest(
                method: "POST", target: HostileWorld.path(url), body: Array("a file".utf8)))
        let asset = try UploadedFileResponse(body: kept.body.content).file
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["f": .asset(asset)])))
        #expect(saved.map(\.code) == [nil])
        let lookup = "{\(MeteredHub.zoneID),\"records\":[{\"recordName\":\"a\"}]}"
        for (hub, status) in [(fixture.hub, 200), (other, 404)] {
            let found = await send(.lookupRecords, lookup, to: hub)
            let record = try #require(JSONObject(body: found.body).array("records")?.first?.value)
            let address = record["fields"]["f"]["value"]["downloadURL"].text
            let file = await hub.respond(
                to: HubRequest(method: "GET", target: HostileWorld.path(address)))
            #expect(file.status == status)
        }
        #expect(try HubDiagnosis(of: storage, fixture.hub.assets).findings == [])
        #expect(try HubDiagnosis(of: otherStorage, other.assets).findings.count == 1)
    }

    @Test func `a table that an operator locks keeps nobody waiting who asks for readiness`()
        async throws
    {
        let hub = fixture.hub
        @Sendable func status() async -> Int {
            await hub.respond(to: HubRequest(method: "GET", target: "/ready")).status
        }
        #expect(await status() == 200)
        fixture.advance(milliseconds: Readiness.keptMilliseconds)
        // Without the time limits that the sessions of hubs have.
        let session = try Connection(schema.address, .plain)
        let lock = "LOCK TABLE backstitch_entries IN ACCESS EXCLUSIVE MODE"
        _ = try session.roundTrip([
            BoundStatement(PartitionCommit.begin),
            BoundStatement(Statement("lockTable", sql: lock)),
        ])
        async let first = status()
        try await eventually { hub.readiness.isProbing }
        fixture.advance(milliseconds: Readiness.patienceMilliseconds)
        hub.tick()
        #expect(await first == 503)
        #expect(await status() == 503)
        _ = try session.roundTrip([BoundStatement(PartitionCommit.rollback)])
        try await eventually {
            fixture.advance(milliseconds: Readiness.keptMilliseconds)
            return await status() == 200
        }
    }

    /// The server refuses as one whose disk is full does: with SQLSTATE 53100.
    @Test func `a server without space has writes come back later, and readiness says so`()
        async throws
    {
        let hub = fixture.hub
        func ready() async -> (status: Int, body: [UInt8]) {
            let response = await hub.respond(to: HubRequest(method: "GET", target: "/ready"))
            return (response.status, response.body.content)
        }
        let connection = try schema.connection()
        func run(_ name: String, _ sql: String) throws {
            _ = try connection.roundTrip([BoundStatement(Statement(name, sql: sql))])
        }
        #expect(await send(.modifyRecords, Self.saves(1)).status == 200)
        try run(
            "makeFull",
            """
            CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$
            """)
        try run(
            "fill",
            """
            CREATE TRIGGER full_disk BEFORE INSERT ON backstitch_entries
            EXECUTE FUNCTION full_disk()
            """)
        let refused = await send(.modifyRecords, Self.saves(2))
        #expect(refused.status == 503)
        let error = try WireError(body: refused.body)
        #expect(error.code == .tryAgainLater && error.retryAfter == 60)
        #expect(error.reason == "The service has no space left.")
        // At once by the write that failed, and half a minute later by a probe.
        for seconds in [0, Readiness.fullMilliseconds / 1_000] {
            fixture.advance(milliseconds: seconds * 1_000)
            let answer = await ready()
            #expect(answer.status == 503)
            #expect(
                try WireError(body: answer.body).reason
                    == "The disk is full. Writes found no space for \(seconds) seconds.")
        }
        try run("makeRoom", "DROP TRIGGER full_disk ON backstitch_entries")
        fixture.advance(milliseconds: Readiness.fullMilliseconds)
        #expect(await ready().status == 200)
        #expect(await send(.modifyRecords, Self.saves(2)).status == 200)
    }

    @Test func `a database that is away is no failure of the request`() async throws {
        let cluster = try PostgreSQLCluster()
        let storage = try TemporarySchema(in: cluster).storage()
        let fixture = try await HubFixture(storage: storage)
        try await fixture.makeZones("z")
        for _ in 0..<2 {
            cluster.kill()
            let body = Array(Self.saves(1).utf8)
            var status = 0
            // Those that it is away for are told to come back, and the first one after that succeeds.
            try await eventually {
                status = await fixture.send(.modifyRecords, as: fixture.ada, body: body).status
                #expect([200, 503].contains(status))
                return status == 200
            }
        }
        let ready = HubRequest(method: "GET", target: "/ready")
        func becomes(_ status: Int) async throws {
            try await eventually {
                fixture.advance(milliseconds: Readiness.keptMilliseconds)
                return await fixture.hub.respond(to: ready).status == status
            }
        }
        // A connection of its own may still have to find out that it is cut.
        try await becomes(200)
        cluster.stop()
        try await becomes(503)
    }
}
