import BackstitchCore
import BackstitchHub
import CloudKitWire
import Foundation
import LMDB
import TestBudget
import Testing
import WireCrypto
import Threading

@testable import BackstitchHubCore

@Suite("Who may use a hub", .budgeted)
struct HubAccessTests {
    private static let lookup = LookupRecordsRequest(records: [.init(recordName: "a")])

    @Test("nobody sees the private database of another user")
    func isolation() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        _ = try await fixture.modify(.init(.create, HubFixture.record("a")))
        for owner in [nil, fixture.ada.userRecordName] {
            var request = Self.lookup
            request.zoneID = WireZoneID("z", ownerRecordName: owner)
            do {
                let _: RecordsResponse = try await fixture.call(
                    .lookupRecords, request, as: fixture.bob)
                Issue.record("Bob reads Ada's zone.")
            } catch let error as WireError {
                #expect(error.code == .zoneNotFound)
            }
            do {
                let _: RecordsResponse = try await fixture.call(
                    .lookupRecords, in: .shared, request, as: fixture.bob)
                Issue.record("Bob reads Ada's zone.")
            } catch let error as WireError {
                #expect(error.code == .zoneNotFound)
            }
        }
        let zones: ZonesResponse = try await fixture.call(
            .listZones, LookupZonesRequest(zones: []), as: fixture.bob)
        #expect(zones.zones.compactMap(\.value?.zoneID.zoneName) == ["_defaultZone"])
    }

    @Test("a token of a user's zone is none in another user's zone of that name")
    func tokensOfOthers() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let feed = ZoneChangesRequest(zones: [ZoneFeedRequest(zoneID: WireZoneID("z"))])
        let page: ZoneChangesResponse = try await fixture.call(.zoneChanges, feed)
        let token = try #require(page.zones.first?.value?.syncToken)
        let _: ZonesResponse = try await fixture.call(
            .modifyZones, ModifyZonesRequest(operations: [.init(.create, WireZoneID("z"))]),
            as: fixture.bob)
        let stolen = ZoneChangesRequest(
            zones: [ZoneFeedRequest(zoneID: WireZoneID("z"), syncToken: token)])
        let reply: ZoneChangesResponse = try await fixture.call(
            .zoneChanges, stolen, as: fixture.bob)
        #expect(reply.zones.first?.code == "ZONE_NOT_FOUND")
    }

    @Test("without credentials, or with wrong ones, there is one answer")
    func refusals() async throws {
        let fixture = try await HubFixture()
        let path = "/database/1/iCloud.test/development/private/records/lookup"
        let other = "/database/1/iCloud.other/development/private/records/lookup"
        let token = fixture.apiToken
        let expected = (401, "AUTHENTICATION_FAILED")
        for target in [
            path, path + "?ckAPIToken=wrong", other + "?ckAPIToken=\(token)",
            path.replacing("development", with: "production") + "?ckAPIToken=\(token)",
            path + "?ckAPIToken=\(token)&ckWebAuthToken=wrong",
        ] {
            let response = await fixture.hub.respond(
                to: HubRequest(method: "POST", target: target, body: Self.lookup.body()))
            guard case .bytes(let body) = response.body else { continue }
            let error = try WireError(body: body)
            #expect((response.status, error.serverErrorCode) == expected)
        }
        let anonymous = await fixture.send(.lookupRecords, body: Self.lookup.body())
        #expect(anonymous.status == 421)
        fixture.advance(milliseconds: HubLimits().sessionMilliseconds)
        let late = await fixture.send(.lookupRecords, as: fixture.ada, body: Self.lookup.body())
        #expect(late.status == 421)
    }

    @Test("a hub for development names a container that it does not have, and no other hub does")
    func unknownContainer() async throws {
        let target = "/database/1/iCloud.other/development/private/records/lookup?ckAPIToken=token"
        let request = HubRequest(method: "POST", target: target, body: Self.lookup.body())
        for namesUnknownContainers in [false, true] {
            let folder = FileManager.default.temporaryDirectory.path + "/hub-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var configuration = HubConfiguration()
            configuration.namesUnknownContainers = namesUnknownContainers
            let hub = try await Hub.temporary(assetFolder: folder, configuration: configuration)
            defer { hub.close() }
            try await hub.accounts.makeContainer("iCloud.test", environment: "development")
            let response = await hub.respond(to: request)
            #expect(response.status == 401)
            guard case .bytes(let body) = response.body else {
                Issue.record("There is no body.")
                continue
            }
            let error = try WireError(body: body)
            #expect(error.serverErrorCode == "AUTHENTICATION_FAILED")
            #expect(error.reason.contains("iCloud.other") == namesUnknownContainers)
        }
    }

    @Test("who fails too often has to wait, and a revoked credential counts no more")
    func throttling() async throws {
        var limits = HubLimits()
        limits.failedSignInsPerMinute = 3
        let fixture = try await HubFixture(limits: limits)
        #expect(try await fixture.hub.accounts.revoke(fixture.bob.webAuthToken))
        #expect(try await !fixture.hub.accounts.revoke(fixture.bob.webAuthToken))
        var statuses: [Int] = []
        for _ in 0..<4 {
            let reply = await fixture.send(
                .lookupRecords, as: fixture.bob, body: Self.lookup.body())
            statuses.append(reply.status)
        }
        #expect(statuses == [401, 401, 401, 429])
        // Whoever shares the address and has the right token gets in all the same.
        let right = await fixture.send(.listZones, as: fixture.ada, body: [])
        #expect(right.status == 200)
        fixture.advance(milliseconds: 60_000)
        let later = await fixture.send(.listZones, as: fixture.ada, body: [])
        #expect(later.status == 200)
    }

    @Test("a request that a server key signed counts, and nothing else does")
    func signatures() async throws {
        let fixture = try await HubFixture()
        let key = SigningKey.generate()
        let keyID = try await fixture.hub.accounts.addServerKey(
            key.publicPEM, container: HubFixture.container, environment: "development")
        let path = "/database/1/iCloud.test/development/public/records/lookup?ckjsVersion=2"
        let body = Self.lookup.body()
        func status(
            date: String, signed: [UInt8]? = nil, target: String? = nil, keyID id: String? = nil
        ) async throws -> Int {
            let message = RequestSignature.message(date: date, body: signed ?? body, path: path)
            let signature = Data(try key.sign(message)).base64EncodedString()
            let headers = [
                HubRequest.Header(WireHeader.keyID, id ?? keyID),
                HubRequest.Header(WireHeader.signedDate, date),
                HubRequest.Header(WireHeader.signature, signature),
            ]
            let request = HubRequest(
                method: "POST", target: target ?? path, headers: headers, body: body)
            return await fixture.hub.respond(to: request).status
        }
        let now = SignedDate.text(milliseconds: fixture.time.withLock { $0 })
        #expect(now == "2023-11-14T22:13:20Z")
        #expect(SignedDate.milliseconds(now) == 1_700_000_000_000)
        #expect(try await status(date: now) == 200)
        #expect(try await status(date: "2023-11-14T22:23:20Z") == 200)
        #expect(try await status(date: "2023-11-14T22:23:21Z") == 401)
        #expect(try await status(date: "2023-11-14T22:03:19Z") == 401)
        #expect(try await status(date: "soon") == 401)
        #expect(try await status(date: now, signed: [1]) == 401)
        #expect(try await status(date: now, target: path + "1") == 401)
        #expect(try await status(date: now, keyID: String(repeating: "0", count: 64)) == 401)
        let own = path.replacing("public", with: "private")
        #expect(try await status(date: now, target: own) == 401)
    }

    @Test("the empty body is signed in both ways that are about")
    func emptyBodies() async throws {
        let fixture = try await HubFixture()
        let key = SigningKey.generate()
        let keyID = try await fixture.hub.accounts.addServerKey(
            key.publicPEM, container: HubFixture.container, environment: "development")
        let path = "/database/1/iCloud.test/development/public/zones/list"
        let date = SignedDate.text(milliseconds: 1_700_000_000_000)
        for message in [
            RequestSignature.message(date: date, body: [], path: path),
            RequestSignature.messageWithoutBody(date: date, path: path),
        ] {
            let headers = [
                HubRequest.Header(WireHeader.keyID, keyID),
                HubRequest.Header(WireHeader.signedDate, date),
                HubRequest.Header(
                    WireHeader.signature, Data(try key.sign(message)).base64EncodedString()),
            ]
            let response = await fixture.hub.respond(
                to: HubRequest(method: "GET", target: path, headers: headers))
            #expect(response.status == 200)
        }
    }

    @Test("keys that are none, or private, or of another curve are refused")
    func badKeys() async throws {
        let fixture = try await HubFixture()
        for pem in [
            "", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            SigningKey.generate().pem,
        ] {
            await #expect(throws: HubError.self) {
                try await fixture.hub.accounts.addServerKey(
                    pem, container: HubFixture.container, environment: "development")
            }
        }
    }

    @Test("users find themselves, and others only as far as those want")
    func users() async throws {
        let fixture = try await HubFixture()
        let callers: UsersResponse<WireUserIdentity> = try await fixture.call(
            .caller, in: .public, DatabaseChangesRequest())
        #expect(callers.users.first?.value?.userRecordName == fixture.ada.userRecordName)
        let current: WireUser = try await fixture.call(
            .currentUser, in: .public, DatabaseChangesRequest())
        #expect(current.emailAddress == "ada@example.com")
        let found: UsersResponse<WireUserIdentity> = try await fixture.call(
            .discoverUsers, in: .public,
            LookupUsersRequest(infos: [
                .init(emailAddress: "ada@example.com"),
                .init(userRecordName: fixture.ada.userRecordName),
            ]), as: fixture.bob)
        #expect(found.users.count == 1 && found.users.first?.value?.givenName == nil)
    }

    @Test(
        "addresses that are none are answered and do no harm",
        arguments: [
            "/", "", "*", "/..", "/%2e%2e/etc/passwd", "/asset/1/../../etc/passwd/x/y/z",
            "/asset/1/%2Fetc%2Fpasswd/9999999999999/x/f", "/asset/1/0/0/0/0", "/courier/1/zz",
            "/courier/1/00", "/courier/1/", "/upload/1/", "/upload", "/database/1/%00/x/y/z",
            "/%", "/%zz", "/database/1/a/b/private/records/query?%", "/healthz/../metrics",
        ])
    func badAddresses(target: String) async throws {
        let fixture = try await HubFixture()
        for method in ["GET", "POST", "PUT", "DELETE", "TRACE", ""] {
            let response = await fixture.hub.respond(
                to: HubRequest(method: method, target: target))
            #expect((400..<500).contains(response.status), "\(method) \(target)")
        }
    }
}
