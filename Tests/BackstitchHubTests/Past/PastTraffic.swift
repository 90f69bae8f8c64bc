import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What clients of a kept hub have in hand: tokens, and requests with their answers.
struct PastTraffic: Codable {
    struct Exchange: Codable {
        var target: String
        var headers: [[String]]
        var body: String
        var answer: String

        var request: HubRequest {
            HubRequest(
                method: "POST", target: target,
                headers: headers.map { HubRequest.Header($0[0], $0[1]) }, body: Array(body.utf8))
        }
    }

    /// Where Bob's zone B stood when its first records were there.
    var zoneToken: String
    /// Where Bob's database stood then.
    var databaseToken: String
    /// A write by Bob that its client gave a name.
    var named: Exchange
    /// A write to the public database that a server key signed.
    var signed: Exchange
}

extension PastWriter {
    /// Has Bob refer, and delete; has Ada hold the file that Bob holds; has a server write.
    func writeTraffic(_ past: PastHub, _ credentials: PastHub.Credentials) async throws {
        let (api, bob) = (credentials.apiToken, credentials.bob)
        let zone = WireZoneID("B")
        let feed: ZoneChangesResponse = try await past.call(
            .zoneChanges, ZoneChangesRequest(zones: [ZoneFeedRequest(zoneID: zone)]), api, bob)
        let zones: ZonesResponse = try await past.call(
            .databaseChanges, DatabaseChangesRequest(), api, bob)
        try await writeReferences(past, api, bob)
        try await writeSecondFile(past, api, credentials.ada)
        let traffic = PastTraffic(
            zoneToken: feed.zones[0].value?.syncToken ?? "", databaseToken: zones.syncToken ?? "",
            named: try await named(past, api, bob), signed: try await signed(past))
        try JSONEncoder().encode(traffic)
            .write(to: URL(fileURLWithPath: folder + "/traffic.json"))
    }

    private func writeReferences(
        _ past: PastHub, _ apiToken: String, _ webToken: String
    ) async throws {
        func reference(_ name: String, _ target: String, _ action: ServiceReference.Action)
            -> WireRecord
        {
            HubFixture.record(
                name, ["to": .reference(ServiceReference(recordName: target, action: action))])
        }
        var child = HubFixture.record("child")
        child.parent = "r1"
        let operations: [WireRecordOperation] = [
            .init(.create, reference("follower", "r0", .deleteSelf)),
            .init(.create, reference("guard", "r1", .validate)), .init(.create, child),
        ]
        let made: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(operations: operations, zoneID: WireZoneID("B")), apiToken,
            webToken)
        try Self.expectDone(made.records.compactMap(\.code))
    }

    /// The file that Bob holds, in another user's database; and a receipt that was not used yet.
    private func writeSecondFile(
        _ past: PastHub, _ apiToken: String, _ webToken: String
    ) async throws {
        let _: ZonesResponse = try await past.call(
            .modifyZones, ModifyZonesRequest(operations: [.init(.create, WireZoneID("A"))]),
            apiToken, webToken)
        let places = ["photo", "later"].map { WireAssetPlace(recordName: $0, fieldName: "image") }
        let uploads: UploadTokensResponse = try await past.call(
            .uploadAssets, UploadRequest(places: places, zoneID: WireZoneID("A")), apiToken,
            webToken)
        var files: [ServiceAsset] = []
        for (token, text) in zip(uploads.tokens, ["a picture of Bob's", "not held yet"]) {
            let sent = HubRequest(
                method: "POST", target: HostileWorld.path(token.url), body: Array(text.utf8))
            guard case .bytes(let body) = await past.hub.respond(to: sent).body else { continue }
            files.append(try UploadedFileResponse(body: body).file)
        }
        let made: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [
                    .init(.create, HubFixture.record("photo", ["image": .asset(files[0])]))
                ], zoneID: WireZoneID("A")), apiToken, webToken)
        try Self.expectDone(made.records.compactMap(\.code))
        try Data((files[1].receipt ?? "").utf8)
            .write(to: URL(fileURLWithPath: folder + "/receipt"))
    }

    private func named(
        _ past: PastHub, _ apiToken: String, _ webToken: String
    ) async throws -> PastTraffic.Exchange {
        let escaped = webToken.replacing("+", with: "%2B").replacing("/", with: "%2F")
            .replacing("=", with: "%3D")
        let path = WirePath(
            container: PastHub.container, environment: PastHub.environment, database: .private,
            endpoint: .modifyRecords)
        let body = ModifyRecordsRequest(
            operations: [.init(.create, HubFixture.record("once", ["n": .int64(1)]))],
            zoneID: WireZoneID("B")
        ).body()
        return try await answered(
            PastTraffic.Exchange(
                target: path.text + "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(escaped)",
                headers: [
                    [WireHeader.requestID, "kept"],
                    [WireHeader.extensions, WireExtension.header(WireExtension.allCases)],
                ], body: String(decoding: body, as: UTF8.self), answer: ""), past)
    }

    private func signed(_ past: PastHub) async throws -> PastTraffic.Exchange {
        let key = SigningKey.generate()
        let keyID = try await past.hub.accounts.addServerKey(
            key.publicPEM, container: PastHub.container, environment: PastHub.environment)
        let path = WirePath(
            container: PastHub.container, environment: PastHub.environment, database: .public,
            endpoint: .modifyRecords
        ).text
        let body = ModifyRecordsRequest(
            operations: [.init(.forceUpdate, HubFixture.record("server", ["n": .int64(1)]))]
        ).body()
        let date = SignedDate.text(milliseconds: Self.milliseconds)
        let message = RequestSignature.message(date: date, body: body, path: path)
        return try await answered(
            PastTraffic.Exchange(
                target: path,
                headers: [
                    [WireHeader.keyID, keyID], [WireHeader.signedDate, date],
                    [WireHeader.signature, Data(try key.sign(message)).base64EncodedString()],
                ], body: String(decoding: body, as: UTF8.self), answer: ""), past)
    }

    private func answered(
        _ exchange: PastTraffic.Exchange, _ past: PastHub
    ) async throws -> PastTraffic.Exchange {
        let response = await past.hub.respond(to: exchange.request)
        guard response.status == 200, case .bytes(let bytes) = response.body else {
            throw HubError(.invalid, "The hub refused: \(response.status)")
        }
        var exchange = exchange
        exchange.answer = String(decoding: bytes, as: UTF8.self)
        return exchange
    }
}
