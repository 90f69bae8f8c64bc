import BackstitchCore
import BackstitchSync
import CloudKitWire
import Foundation
import TestBudget
import Testing
import Threading
import Waiting

@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// Sessions go on while they are used, whatever requests of theirs run at the same time.
@Suite(.budgeted) struct SessionTests {
    private static let day: Int64 = 24 * 3_600 * 1_000

    private let fixture: HubFixture

    init() async throws { fixture = try await HubFixture() }

    /// Status of a call as Ada with a token, and the token that comes with the reply.
    private func ask(
        _ token: String, _ endpoint: Endpoint = .listZones, _ body: String = "{}"
    ) async -> (status: Int, token: String?) {
        var user = fixture.ada
        user.webAuthToken = token
        let response = await fixture.hub.respond(
            to: HubRequest(
                method: "POST", target: fixture.target(endpoint, as: user),
                body: Array(body.utf8)))
        let header = response.headers.first { $0.name == WireHeader.webAuthToken }
        return (response.status, header?.value)
    }

    private func service(_ token: WebAuthToken) throws -> CloudKitRecordService {
        var configuration = fixture.configuration()
        configuration.credentials = .user(apiToken: fixture.apiToken, webAuthToken: token)
        return try CloudKitRecordService(configuration, client: DirectClient(fixture.hub))
    }

    @Test func `a device that syncs daily needs nobody for thirty days`() async throws {
        let saved = Locked(fixture.ada.webAuthToken)
        for day in 0..<30 {
            // Each day is a new start of the program, which knows what was saved.
            let token = WebAuthToken(saved.withLock { $0 }) { new in saved.withLock { $0 = new } }
            _ = try await service(token).databaseChanges(since: nil)
            try await service(token).createZone(ZoneID("z\(day)"))
            fixture.advance(milliseconds: Self.day)
        }
        #expect(saved.withLock { $0 } != fixture.ada.webAuthToken)
    }

    @Test func `a session that nobody uses ends, also one that was renewed`() async throws {
        fixture.advance(milliseconds: 13 * Self.day)
        let renewed = try #require(await ask(fixture.ada.webAuthToken).token)
        fixture.advance(milliseconds: Self.day)
        #expect(await ask(fixture.ada.webAuthToken).status == 421)
        #expect(await ask(renewed).status == 200)
        fixture.advance(milliseconds: 13 * Self.day)
        #expect(await ask(renewed).status == 421)
    }

    @Test func `a session ends in the end, however much it is used`() async throws {
        var (token, days) = (fixture.ada.webAuthToken, 0)
        while days < 400 {
            let reply = await ask(token)
            guard reply.status == 200 else { break }
            token = reply.token ?? token
            fixture.advance(milliseconds: Self.day)
            days += 1
        }
        #expect(days == HubLimits().sessionDaysMax)
        #expect(await ask(token).status == 421)
    }

    @Test func `parallel requests through a renewal all succeed, with any of the tokens`()
        async throws
    {
        fixture.advance(milliseconds: 2 * Self.day)
        let tokens = await withTaskGroup(of: (status: Int, token: String?).self) { group in
            for number in 0..<60 {
                group.addTask {
                    let (endpoint, body): (Endpoint, String) =
                        number.isMultiple(of: 2)
                        ? (.listZones, "{}")
                        : (
                            .modifyZones,
                            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"z"}}}]}"#
                        )
                    return await ask(fixture.ada.webAuthToken, endpoint, body)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens.allSatisfy { $0.status == 200 && $0.token != nil })
        for token in Set(tokens.compactMap(\.token)) + [fixture.ada.webAuthToken] {
            #expect(await ask(token).status == 200)
        }
        // One that was just issued stays.
        #expect(await ask(try #require(tokens.first?.token)).token == nil)
    }

    @Test func `a revoked session ends with all of its tokens, and its courier too`() async throws {
        let made: PushTokenResponse = try await fixture.call(
            .createToken, PushTokenRequest(apnsEnvironment: "development"))
        let courier = made.webcourierURL.dropFirst("http://127.0.0.1".count)
        func poll() async throws -> Int {
            let request = HubRequest(method: "GET", target: String(courier))
            let hasEnded = Locked(false)
            async let status = {
                let response = await fixture.hub.respond(to: request)
                hasEnded.withLock { $0 = true }
                return response.status
            }()
            // It waits, or is refused.
            try await eventually {
                fixture.hub.mailboxes.waiterCount > 0 || hasEnded.withLock(\.self)
            }
            fixture.hub.mailboxes.releaseAll()
            return await status
        }
        fixture.advance(milliseconds: 2 * Self.day)
        let renewed = try #require(await ask(fixture.ada.webAuthToken).token)
        while fixture.hub.sessions.count > 0 { await Task.yield() }
        fixture.advance(milliseconds: 13 * Self.day)
        // The first token ended; the session and what listens in its name did not.
        #expect(await ask(fixture.ada.webAuthToken).status == 421)
        #expect(try await poll() == 200)
        #expect(try await fixture.hub.accounts.revoke(renewed))
        #expect(await ask(renewed).status == 401)
        #expect(await ask(fixture.ada.webAuthToken).status == 401)
        #expect(try await poll() == 404)
    }

    @Test func `a token that the hub did not issue counts for nothing`() async throws {
        let secret = fixture.ada.webAuthToken
        fixture.advance(milliseconds: 2 * Self.day)
        let renewed = try #require(await ask(secret).token)
        let parts = renewed.split(separator: ".").map { String($0) }
        let later = Int64(parts[1]).map { "\($0 + 86_400)" } ?? ""
        let (bob, mac) = (fixture.bob.webAuthToken, parts[2])
        for forged in [
            "\(secret).\(later).\(mac)", "\(bob).\(parts[1]).\(mac)", "\(secret).\(parts[1]).",
            "\(secret).\(parts[1]).\(mac)0", "\(secret).-1.\(mac)", "\(secret)..",
            "\(secret).9223372036854775807.\(mac)",
        ] {
            #expect(await ask(forged).status == 401, "\(forged)")
        }
        #expect(await ask(renewed).status == 200)
        // Of what is issued nothing is stored.
        let isStored = try fixture.hub.storage.readHere { transaction in
            var isStored = false
            try transaction.forEachEntry { key, value in
                let text = String(decoding: key.bytes + value, as: UTF8.self)
                isStored = isStored || text.contains(secret) || text.contains(mac)
            }
            return isStored
        }
        #expect(!isStored)
    }

    @Test func `a token counts whose moment is still to come since the clock was set back`()
        async throws
    {
        fixture.advance(milliseconds: 2 * Self.day)
        let renewed = try #require(await ask(fixture.ada.webAuthToken).token)
        fixture.setClock(by: -3 * Self.day)
        for token in [renewed, fixture.ada.webAuthToken] {
            #expect(await ask(token) == (200, nil))
        }
        fixture.setClock(by: 3 * Self.day)
        #expect(await ask(renewed).status == 200)
    }

    // MARK: What a session began before it was revoked

    @Test func `a write is done whose head came before its session was revoked, and none after it`()
        async throws
    {
        try await fixture.makeZones("z")
        func head() -> HubRequest {
            HubRequest(method: "POST", target: fixture.target(.modifyRecords, as: fixture.ada))
        }
        func body(_ name: String) -> [UInt8] {
            let operation =
                #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"T"}}"#
            return Array(#"{"zoneID":{"zoneName":"z"},"operations":[\#(operation)]}"#.utf8)
        }
        var (early, late) = (head(), head())
        guard case .take = await fixture.admission(of: &early, length: body("a").count) else {
            Issue.record("The head was refused.")
            return
        }
        #expect(try await fixture.hub.accounts.revoke(fixture.ada.webAuthToken))
        early.body = .bytes(body("a"))
        #expect(await fixture.hub.respond(to: early).status == 200)
        _ = await fixture.admission(of: &late, length: body("b").count)
        late.body = .bytes(body("b"))
        #expect(await fixture.hub.respond(to: late).status == 401)
        #expect(try fixture.hub.storage.readHere { try $0.count(.record) } == 1)
    }

    @Test func `an upload address of a session that was revoked takes a file until its end`()
        async throws
    {
        try await fixture.makeZones("z")
        let places = ["a", "b"].map { WireAssetPlace(recordName: $0, fieldName: "f") }
        let uploads: UploadTokensResponse = try await fixture.call(
            .uploadAssets, UploadRequest(places: places, zoneID: WireZoneID("z")))
        let paths = uploads.tokens.map { HostileWorld.path($0.url) }
        try #require(paths.count == 2)
        #expect(try await fixture.hub.accounts.revoke(fixture.ada.webAuthToken))
        func upload(_ path: String) async -> HubResponse {
            await fixture.hub.respond(
                to: HubRequest(method: "POST", target: path, body: Array("content".utf8)))
        }
        fixture.advance(milliseconds: HubLimits().addressMilliseconds - 1)
        let kept = await upload(paths[0])
        #expect(kept.status == 200)
        let asset = try UploadedFileResponse(body: kept.body.content).file
        let create = ModifyRecordsRequest(
            operations: [.init(.create, HubFixture.record("a", ["f": .asset(asset)]))],
            zoneID: WireZoneID("z"))
        let (status, _) = await fixture.send(
            .modifyRecords, as: fixture.ada, body: create.body())
        #expect(status == 401)
        fixture.advance(milliseconds: 1)
        #expect(await upload(paths[1]).status == 404)
    }

    @Test func `a session goes on, and one of a set length does not`() async throws {
        let short = try await fixture.hub.accounts.signIn(
            "Ada", container: HubFixture.container, environment: "development",
            lifetimeMilliseconds: 3 * Self.day)
        fixture.advance(milliseconds: 2 * Self.day)
        #expect(await ask(fixture.ada.webAuthToken).token != nil)
        #expect(await ask(short.webAuthToken) == (200, nil))
        fixture.advance(milliseconds: Self.day)
        #expect(await ask(short.webAuthToken).status == 421)
    }

    @Test func `that a session goes on is noted once a day`() async throws {
        func used() throws -> Int64? {
            let key = WebTokenRow.key(fixture.ada.webAuthToken)
            return try fixture.hub.storage.readHere { try $0.row(key, as: WebTokenRow.self) }?.used
        }
        #expect(try used() == nil)
        fixture.advance(milliseconds: 2 * Self.day)
        for _ in 0..<3 {
            #expect(await ask(fixture.ada.webAuthToken).token != nil)
            while fixture.hub.sessions.count > 0 { await Task.yield() }
            #expect(try used() == 1_700_000_000_000 + 2 * Self.day)
            fixture.advance(milliseconds: 1_000)
        }
        let session = try #require(
            try await fixture.hub.accounts.credentials(.session).first { $0.userName == "Ada" })
        #expect(session.ends == 1_700_000_000_000 + 16 * Self.day)
    }
}
