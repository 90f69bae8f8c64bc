import BackstitchCore
import CloudKitWire
import Foundation
import LMDB
import TestBudget
import Testing
import WireCrypto
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore

/// A signature acts once, whoever sends it and however often.
@Suite("Signed requests that come again", .budgeted)
struct SignedReplayTests {
    /// A hub with a server key.
    private struct Server {
        let hub: Hub
        let key = SigningKey.generate()
        let keyID: String
        let now: @Sendable () -> Int64

        init(_ hub: Hub, now: @escaping @Sendable () -> Int64) async throws {
            (self.hub, self.now) = (hub, now)
            keyID = try await hub.accounts.addServerKey(
                key.publicPEM, container: HubFixture.container, environment: "development")
        }

        /// A request that the key signed.
        func signed(_ call: String, _ body: String, at offset: Int64 = 0) throws -> HubRequest {
            let path = "/database/1/iCloud.test/development/public/\(call)"
            let date = SignedDate.text(milliseconds: now() + offset)
            let message = RequestSignature.message(date: date, body: Array(body.utf8), path: path)
            let headers = [
                HubRequest.Header(WireHeader.keyID, keyID),
                HubRequest.Header(WireHeader.signedDate, date),
                HubRequest.Header(
                    WireHeader.signature, Data(try key.sign(message)).base64EncodedString()),
            ]
            return HubRequest(
                method: "POST", target: path, headers: headers, body: Array(body.utf8))
        }

        func set(_ value: Int, at offset: Int64 = 0) throws -> HubRequest {
            try signed(
                "records/modify",
                """
                {"operations":[{"operationType":"forceUpdate","record":{"recordName":"r",
                "recordType":"T","fields":{"v":{"value":\(value)}}}}]}
                """, at: offset)
        }

        func value() async throws -> Int {
            let answer = try await hub.respond(
                to: signed("records/lookup", #"{"records":[{"recordName":"r"}]}"#))
            let json = try JSONParser.parse(answer.body.content)
            return json["records"].elements[0]["fields"]["v"]["value"].count
        }
    }

    private static func server(_ fixture: HubFixture) async throws -> Server {
        try await Server(fixture.hub) { fixture.time.withLock { $0 } }
    }

    @Test func `an old write that is sent again gets its first answer and changes nothing`()
        async throws
    {
        let fixture = try await HubFixture()
        let server = try await Self.server(fixture)
        let first = try server.set(100)
        let answer = await server.hub.respond(to: first)
        #expect(answer.status == 200)
        #expect(try await server.hub.respond(to: server.set(5)).status == 200)
        for minutes in [0, 3, 6] as [Int64] {
            fixture.advance(milliseconds: minutes * 60_000)
            let again = await server.hub.respond(to: first)
            #expect(again.status == 200 && again.body.content == answer.body.content)
            #expect(try await server.value() == 5)
        }
        fixture.advance(milliseconds: 2 * 60_000)
        #expect(await server.hub.respond(to: first).status == 401)
    }

    @Test func `headers that are not signed change nothing of that`() async throws {
        let fixture = try await HubFixture()
        let server = try await Self.server(fixture)
        var first = try server.set(100)
        first.headers.append(HubRequest.Header(WireHeader.extensions, "request-id"))
        first.headers.append(HubRequest.Header(WireHeader.requestID, "one"))
        _ = await server.hub.respond(to: first)
        _ = try await server.hub.respond(to: server.set(5))
        var forged = first
        forged.headers.removeLast()
        forged.headers.append(HubRequest.Header(WireHeader.requestID, "two"))
        _ = await server.hub.respond(to: forged)
        forged.headers.removeLast(2)
        _ = await server.hub.respond(to: forged)
        #expect(try await server.value() == 5)
    }

    @Test func `the second form of a signature is the same signature`() async throws {
        let fixture = try await HubFixture()
        let server = try await Self.server(fixture)
        let first = try server.set(100)
        _ = await server.hub.respond(to: first)
        _ = try await server.hub.respond(to: server.set(5))
        var forged = first
        let index = try #require(
            forged.headers.firstIndex { $0.name == WireHeader.signature })
        let signature = try #require(Data(base64Encoded: forged.headers[index].value))
        let other = Self.negated(Array(signature))
        #expect(other != Array(signature))
        forged.headers[index].value = Data(other).base64EncodedString()
        #expect(await server.hub.respond(to: forged).status == 200)
        #expect(try await server.value() == 5)
    }

    @Test func `two requests that say the same at the same time both act`() async throws {
        let fixture = try await HubFixture()
        let server = try await Self.server(fixture)
        let create = #"{"operations":[{"operationType":"create","record":{"recordType":"T"}}]}"#
        var names: Set<String> = []
        for _ in 0..<2 {
            let answer = try await server.hub.respond(
                to: server.signed("records/modify", create))
            let json = try JSONParser.parse(answer.body.content)
            names.insert(json["records"].elements[0]["recordName"].text)
        }
        #expect(names.count == 2)
    }

    @Test func `of many repetitions at once one acts`() async throws {
        let fixture = try await HubFixture()
        let server = try await Self.server(fixture)
        let request = try server.signed(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordType":"T"}}]}"#)
        let answers = await withTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<20 {
                group.addTask { await server.hub.respond(to: request).body.content }
            }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(answers.count == 1)
        let query = try await server.hub.respond(
            to: server.signed("records/query", #"{"query":{"recordType":"T"}}"#))
        let found = try JSONParser.parse(query.body.content)["records"].elements
        #expect(found.count == 1)
    }

    @Test(arguments: [
        (
            "subscriptions/modify",
            """
            {"operations":[{"operationType":"create","subscription":{"subscriptionType":"query",
            "query":{"recordType":"T"}}}]}
            """
        ),
        ("assets/upload", #"{"tokens":[{"fieldName":"f"}]}"#),
    ])
    func `other calls that write act once too`(call: String, body: String) async throws {
        let fixture = try await HubFixture()
        let server = try await Self.server(fixture)
        let request = try server.signed(call, body)
        let first = await server.hub.respond(to: request).body.content
        let second = await server.hub.respond(to: request).body.content
        #expect(first == second && !first.isEmpty)
    }

    @Test func `a restart forgets nothing`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("replay-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = HubConfiguration()
        configuration.clock.milliseconds = { 1_700_000_000_000 }
        let hub = try await Hub(at: folder, configuration: configuration)
        try await hub.accounts.makeContainer(HubFixture.container, environment: "development")
        let server = try await Server(hub) { 1_700_000_000_000 }
        let first = try server.set(100)
        let answer = await hub.respond(to: first).body.content
        _ = try await hub.respond(to: server.set(5))
        hub.close()
        let second = try await Hub(at: folder, configuration: configuration)
        defer { second.close() }
        #expect(await second.respond(to: first).body.content == answer)
        let look = try server.signed("records/lookup", #"{"records":[{"recordName":"r"}]}"#)
        let json = try JSONParser.parse(await second.respond(to: look).body.content)
        #expect(json["records"].elements[0]["fields"]["v"]["value"].count == 5)
    }

    @Test func `what is remembered has a bound, and ends`() async throws {
        var limits = HubLimits()
        limits.ledgerBytes = 2_000
        let fixture = try await HubFixture(limits: limits)
        let server = try await Self.server(fixture)
        var statuses: [Int] = []
        for value in 0..<20 {
            statuses.append(try await server.hub.respond(to: server.set(value)).status)
            #expect(try fixture.hub.storage.readHere { try $0.wrongAnswers() } == [])
        }
        #expect(statuses.first == 200 && statuses.last == 429)
        // Who reads, and users, don't wait.
        #expect(try await server.value() == (statuses.firstIndex(of: 429) ?? 0) - 1)
        try await fixture.makeZones("z")
        #expect(try await fixture.modify(.init(.create, HubFixture.record("a"))).count == 1)
        // What is over makes room, and goes with the next write to the database.
        fixture.advance(milliseconds: 12 * 60_000)
        #expect(try await server.hub.respond(to: server.set(7)).status == 200)
        #expect(try fixture.hub.storage.readHere { try $0.count(.signature, .ledgerTime) } == 2)
        #expect(try fixture.hub.storage.readHere { try $0.wrongAnswers() } == [])
    }

    @Test(arguments: [HubKey.Table.signature, .ledgerTime, .ledgerTotal])
    func `a ledger that contradicts itself is seen`(table: HubKey.Table) async throws {
        let fixture = try await HubFixture()
        let server = try await Self.server(fixture)
        #expect(try await server.hub.respond(to: server.set(1)).status == 200)
        let found = try fixture.hub.storage.readHere { transaction in
            var found: [HubKey] = []
            try transaction.forEachEntry { key, value in
                // A total of nothing says the same as none.
                if key.table == table, value.contains(where: { $0 != 0 }) { found.append(key) }
            }
            return found
        }
        let key = try #require(found.first { $0.partition != .global })
        let partition = try #require(key.partition)
        try await fixture.hub.storage.write(to: [partition], expecting: { [.key(key)] }) {
            try $0.delete(key)
        }
        #expect(try fixture.hub.storage.readHere { try $0.wrongAnswers() }.isEmpty == false)
    }

    @Test func `the answer to a large request that comes again is short and says the same`()
        async throws
    {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let text = String(repeating: "x", count: 2_000)
        let operations = (0..<200).map {
            WireRecordOperation(.create, HubFixture.record("r\($0)", ["t": .string(text)]))
        }
        let request = ModifyRecordsRequest(
            operations: operations, zoneID: WireZoneID("z"), isAtomic: false)
        let headers = [
            HubRequest.Header(WireHeader.extensions, "request-id"),
            HubRequest.Header(WireHeader.requestID, "large"),
        ]
        let first: RecordsResponse = try await fixture.call(
            .modifyRecords, request, headers: headers)
        let second: RecordsResponse = try await fixture.call(
            .modifyRecords, request, headers: headers)
        let tags = first.records.map { $0.value?.recordChangeTag }
        #expect(tags == second.records.map { $0.value?.recordChangeTag } && !tags.contains(nil))
        #expect(second.records.allSatisfy { $0.value?.fields.isEmpty == true })
    }

    /// The other signature for the same message that anybody can make of one: with the negative of the
    /// second number, modulo the order of P-256.
    private static func negated(_ signature: [UInt8]) -> [UInt8] {
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2,
            0xFC, 0x63, 0x25, 0x51,
        ]
        let firstEnd = 4 + Int(signature[3])
        let first = Array(signature[2..<firstEnd])
        let second = Array(signature[(firstEnd + 2)...]).drop { $0 == 0 }
        let padded = Array(repeating: UInt8(0), count: 32 - second.count) + second
        var difference = [UInt8](repeating: 0, count: 32)
        var borrow = 0
        for index in (0..<32).reversed() {
            let value = Int(order[index]) - Int(padded[index]) - borrow
            difference[index] = UInt8((value + 256) % 256)
            borrow = value < 0 ? 1 : 0
        }
        var number = Array(difference.drop { $0 == 0 })
        if number[0] >= 0x80 { number.insert(0, at: 0) }
        let body = first + [0x02, UInt8(number.count)] + number
        return [0x30, UInt8(body.count)] + body
    }
}
