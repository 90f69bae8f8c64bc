import BackstitchCore
import CloudKitWire
import Foundation
import Testing
import WireCrypto

@testable import BackstitchHubCore

/// A hub with secrets of Ada's, and what Bob knows who wants to have or change them.
///
/// Whatever is secret has ``marker`` in it. Bob knows names, tokens, tags and receipts of Ada's, but
/// none of the addresses that are good by themselves: who has one of those may use it.
struct HostileWorld: Sendable {
    static let marker = "treasure"
    /// What no reply to Bob may have in it; BYTES travel in base64, and it depends on the place.
    static let secrets = [marker, "TreasureType", "dHJlYXN1cm", "RyZWFzdXJl", "0cmVhc3Vy"]

    let fixture: HubFixture
    let strangerAPIToken: String
    let expiredWebToken: String
    /// Headers of a key of the hub's, signed for another request.
    let signedHeaders: [HubRequest.Header]
    /// Opaque texts, of Ada's and of Bob's own.
    private(set) var tokens: [String] = []
    private(set) var checksums: [String] = []
    /// An address of a file of Ada's.
    private(set) var adaDownload = ""
    private(set) var bobUpload = ""

    /// Bounds that requests reach easily: half of the worlds have them.
    private static func lowLimits() -> HubLimits {
        var limits = HubLimits()
        limits.operationsPerRequest = 12
        limits.recordsPerPage = 3
        limits.recordsPerLargePage = 5
        limits.pageBytes = 8_000
        limits.replyBytes = 60_000
        limits.recordBytes = 3_000
        limits.bodyBytes = 60_000
        limits.callBodyBytes = 40_000
        limits.anonymousBodyBytes = 20_000
        limits.valuesPerBody = 2_000
        limits.parsedBytes = 40_000
        limits.filtersPerQuery = 4
        limits.sortsPerQuery = 2
        limits.sortedBytes = 10
        limits.modifiedBytes = 12_000
        limits.linksPerRequest = 30
        limits.sourcesPerRecord = 4
        limits.cascadedRecords = 6
        limits.zonesPerDatabase = 6
        limits.ledgerBytesPerUser = 20_000
        limits.uploadsPerUser = 20
        limits.devicesPerUser = 3
        limits.subscriptionsPerUser = 4
        limits.subscriptionBytes = 600
        limits.notifiedPairs = 20
        limits.tombstoneChanges = 30
        limits.requestsPerUser = 6
        return limits
    }

    init(seed: UInt64) async throws {
        var limits = seed.isMultiple(of: 2) ? Self.lowLimits() : HubLimits()
        limits.failedSignInsPerMinute = .max
        fixture = try await HubFixture(limits: limits, seed: seed)
        let hub = fixture.hub
        try await hub.accounts.makeContainer("iCloud.other", environment: "production")
        strangerAPIToken = try await hub.accounts.makeAPIToken(
            "iCloud.other", environment: "production")
        expiredWebToken = try await hub.accounts.signIn(
            "Bob", container: HubFixture.container, environment: "development",
            lifetimeMilliseconds: 0
        ).webAuthToken
        let key = SigningKey.generate()
        let keyID = try await hub.accounts.addServerKey(
            key.publicPEM, container: HubFixture.container, environment: "development")
        let date = SignedDate.text(milliseconds: hub.configuration.now)
        let message = RequestSignature.message(date: date, body: [], path: "/database/1/x")
        signedHeaders = [
            HubRequest.Header(WireHeader.keyID, keyID),
            HubRequest.Header(WireHeader.signedDate, date),
            HubRequest.Header(
                WireHeader.signature, Data(try key.sign(message)).base64EncodedString()),
        ]
        try await plant()
        try await settleBob()
    }

    private mutating func plant() async throws {
        try await fixture.makeZones("secret", "treasure-zone")
        var file = try await upload(Array("treasure-file".utf8), as: fixture.ada, "secret", "file")
        let receipt = file.receipt
        let treasure = HubFixture.record(
            "hidden",
            [
                "text": .string("treasure-text"), "treasureField": .int64(1),
                "bytes": .bytes(Data("..treasure".utf8)), "file": .asset(file),
                "texts": .list([.string("treasure")], of: .string),
            ])
        var hidden = treasure
        hidden.recordType = "TreasureType"
        // The hub keeps the answer for the case that the request comes again.
        let named = [
            HubRequest.Header(WireHeader.requestID, "a"),
            HubRequest.Header(WireHeader.extensions, "request-id"),
        ]
        let saved = try await fixture.modify(
            .init(.create, hidden), .init(.create, HubFixture.record("treasure-record")),
            zone: "secret", headers: named)
        tokens += [receipt, saved.first?.value?.recordChangeTag].compactMap { $0 }
        file = try await upload([1, 2, 3], as: fixture.ada, "secret", "other")
        tokens += [file.receipt].compactMap { $0 }
        var notice = HubFixture.record("notice", ["text": .string("open")])
        notice.recordType = "T"
        let request = ModifyRecordsRequest(operations: [.init(.create, notice)])
        let _: RecordsResponse = try await fixture.call(.modifyRecords, in: .public, request)
        var subscription = WireSubscription(subscriptionID: "s", kind: .query)
        subscription.query = ServiceQuery(recordType: "TreasureType")
        let _: SubscriptionsResponse = try await fixture.call(
            .modifySubscriptions, ModifySubscriptionsRequest(operations: [.create(subscription)]))
        let device: PushTokenResponse = try await fixture.call(
            .createToken, PushTokenRequest(apnsEnvironment: "development"))
        tokens.append(device.apnsToken)
        try await collect(as: fixture.ada, zone: "secret", type: "TreasureType")
        let lookup = LookupRecordsRequest(
            records: [.init(recordName: "hidden")], zoneID: WireZoneID("secret"))
        let found: RecordsResponse = try await fixture.call(.lookupRecords, lookup)
        if case .asset(let asset)? = found.records.first?.value?.fields["file"]?.value {
            adaDownload = asset.downloadURL.map { Self.path($0) } ?? ""
            checksums.append(asset.fileChecksum ?? "")
        }
        try #require(!adaDownload.isEmpty)
    }

    private mutating func settleBob() async throws {
        let zone = ModifyZonesRequest(operations: [.init(.create, WireZoneID("z"))])
        let _: ZonesResponse = try await fixture.call(.modifyZones, zone, as: fixture.bob)
        let file = try await upload([4], as: fixture.bob, "z", "file")
        let records = (0..<3).map {
            WireRecordOperation(.create, HubFixture.record("b\($0)", ["n": .int64(1)]))
        }
        let request = ModifyRecordsRequest(operations: records, zoneID: WireZoneID("z"))
        let saved: RecordsResponse = try await fixture.call(
            .modifyRecords, request, as: fixture.bob)
        tokens += [file.receipt, saved.records.first?.value?.recordChangeTag].compactMap { $0 }
        checksums += [file.fileChecksum].compactMap { $0 }
        try await collect(as: fixture.bob, zone: "z", type: "T")
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: "b0", fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(
            .uploadAssets, places, as: fixture.bob)
        bobUpload = uploads.tokens.first.map { Self.path($0.url) } ?? ""
    }

    /// Takes the tokens and markers that a user gets.
    private mutating func collect(
        as user: HubAccounts.SignedInUser, zone: String, type: String
    ) async throws {
        let feed = ZoneFeedRequest(zoneID: WireZoneID(zone), resultsLimit: 1)
        let page: ZoneChangesResponse = try await fixture.call(
            .zoneChanges, ZoneChangesRequest(zones: [feed]), as: user)
        let changes: ZonesResponse = try await fixture.call(
            .databaseChanges, DatabaseChangesRequest(), as: user)
        let marker = QueryMarker(values: [], zoneName: zone, recordName: "a").text
        tokens += [page.zones.first?.value?.syncToken, changes.syncToken, marker]
            .compactMap { $0 }
    }

    private func upload(
        _ bytes: [UInt8], as user: HubAccounts.SignedInUser, _ zone: String, _ field: String
    ) async throws -> ServiceAsset {
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: "hidden", fieldName: field)],
            zoneID: WireZoneID(zone))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places, as: user)
        let url = try #require(uploads.tokens.first).url
        let response = await fixture.hub.respond(
            to: HubRequest(method: "POST", target: Self.path(url), body: bytes))
        guard case .bytes(let body) = response.body else { return ServiceAsset() }
        return try UploadedFileResponse(body: body).file
    }

    /// The path of an address of the hub.
    static func path(_ url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return "/" + (parts.last ?? "")
    }

    // MARK: Afterwards

    /// What is wrong with Ada's data, which nobody was to change.
    func damage() async throws -> [String] {
        let lookup = LookupRecordsRequest(
            records: [.init(recordName: "hidden"), .init(recordName: "treasure-record")],
            zoneID: WireZoneID("secret"))
        let own: RecordsResponse = try await fixture.call(.lookupRecords, lookup)
        let notice: RecordsResponse = try await fixture.call(
            .lookupRecords, in: .public,
            LookupRecordsRequest(records: [.init(recordName: "notice")]))
        let zones: ZonesResponse = try await fixture.call(
            .listZones, LookupZonesRequest(zones: []))
        let subscriptions: SubscriptionsResponse = try await fixture.call(
            .listSubscriptions, LookupZonesRequest(zones: []))
        var found = try fixture.wrongSpace()
        let hidden = own.records.first?.value
        if hidden?.fields["text"] != WireField(.string("treasure-text"))
            || hidden?.fields.count != 5
        {
            found.append("Ada's record is changed: \(own)")
        }
        if own.records.last?.value == nil { found.append("Ada's other record is gone.") }
        if notice.records.first?.value?.fields != ["text": WireField(.string("open"))] {
            found.append("Ada's public record is changed: \(notice)")
        }
        let names = zones.zones.compactMap(\.value?.zoneID.zoneName)
        if names != ["_defaultZone", "secret", "treasure-zone"] {
            found.append("Ada's zones are \(names).")
        }
        let ids = subscriptions.subscriptions.compactMap(\.value?.subscriptionID)
        if ids != ["s"] { found.append("Ada's subscriptions are \(ids).") }
        let file = await fixture.hub.respond(to: HubRequest(method: "GET", target: adaDownload))
        if case .file(let path) = file.body,
            (try? String(contentsOfFile: path, encoding: .utf8)) == "treasure-file"
        {
            return found
        }
        return found + ["Ada's file is changed or gone."]
    }
}
