import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import Waiting
import WireCrypto

@testable import BackstitchHubCore

@Suite("What a hub removes by itself", .budgeted)
struct HubExpiryTests {
    private static let day: Int64 = 24 * 3_600 * 1_000
    private static let content: [UInt8] = Array("content".utf8)
    private static let checksum = Digest.sha256(content).hexadecimal

    private let fixture: HubFixture

    init() async throws {
        fixture = try await HubFixture()
        try await fixture.makeZones("z")
    }

    /// Uploads the content for a record.
    private func upload(_ record: String = "a") async throws -> ServiceAsset {
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: record, fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places)
        let url = try #require(uploads.tokens.first).url
        let response = await fixture.hub.respond(
            to: HubRequest(method: "POST", target: HostileWorld.path(url), body: Self.content))
        guard case .bytes(let body) = response.body else { return ServiceAsset() }
        return try UploadedFileResponse(body: body).file
    }

    private func create(_ name: String, _ asset: ServiceAsset) async throws {
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record(name, ["f": .asset(asset)])))
        try #require(saved.first?.code == nil)
    }

    /// Writes something, so that the hub looks at what is due.
    private func write() async throws {
        _ = try await fixture.modify(.init(.forceUpdate, HubFixture.record("other")))
    }

    private var isThere: Bool {
        get throws {
            let file = try #require(HubFile(fixture.partition(of: fixture.ada), Self.checksum))
            return try fixture.hub.assets.holds(file)
        }
    }

    private func rows(_ table: HubKey.Table) throws -> Int {
        try fixture.hub.storage.readHere { try $0.count(table) }
    }

    @Test("a file that no record came to hold goes, with its addresses and receipts")
    func unused() async throws {
        _ = try await upload()
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        try await write()
        #expect(try isThere)
        #expect(try rows(.upload) == 0)
        fixture.advance(milliseconds: HubLimits().unusedAssetMilliseconds)
        try await write()
        #expect(try !isThere)
        #expect(try rows(.asset) == 0)
        // The sessions of the fixture's users, and none else.
        #expect(try rows(.expiry) == 2)
    }

    @Test("a file stays as long as a record holds it, and a time after")
    func held() async throws {
        try await create("a", upload("a"))
        try await create("b", upload("b"))
        fixture.advance(milliseconds: Self.day)
        try await write()
        #expect(try isThere)
        _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: "a")))
        fixture.advance(milliseconds: Self.day)
        try await write()
        #expect(try isThere)
        _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: "b")))
        try await write()
        #expect(try isThere)
        fixture.advance(milliseconds: Self.day)
        try await write()
        #expect(try !isThere)
        try await create("a", upload("a"))
        #expect(try isThere)
    }

    @Test("an upload of a content that is about to go keeps it")
    func again() async throws {
        let (address, grace) = (
            HubLimits().addressMilliseconds, HubLimits().unusedAssetMilliseconds
        )
        _ = try await upload("a")
        fixture.advance(milliseconds: address + grace - 1)
        let asset = try await upload("b")
        fixture.advance(milliseconds: address - 1)
        try await write()
        #expect(try isThere)
        try await create("b", asset)
        fixture.advance(milliseconds: Self.day)
        try await write()
        #expect(try isThere)
    }

    @Test("a receipt for a file that a record held keeps it")
    func rereferenced() async throws {
        try await create("a", upload())
        fixture.advance(milliseconds: Self.day)
        let places = RereferenceRequest(
            places: [WireAssetPlace(recordName: "a", fieldName: "f")], zoneID: WireZoneID("z"))
        let reply: AssetsResponse = try await fixture.call(.rereferenceAssets, places)
        let asset = try #require(reply.assets.first?.value)
        _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: "a")))
        fixture.advance(milliseconds: HubLimits().addressMilliseconds - 1)
        try await write()
        try await create("a", asset)
        #expect(try isThere)
    }

    @Test("the files of a zone that was deleted go with its records")
    func zones() async throws {
        try await create("a", upload())
        let zone = ModifyZonesRequest(operations: [.init(.delete, WireZoneID("z"))])
        let _: ZonesResponse = try await fixture.call(.modifyZones, zone)
        try await fixture.makeZones("z")
        for _ in 0..<4 {
            try await write()
            fixture.advance(milliseconds: Self.day)
        }
        #expect(try !isThere)
    }

    @Test("more than a request adds is removed with it, so that what is due becomes less")
    func rate() async throws {
        func giveOut() async throws {
            let places = (0..<200).map { WireAssetPlace(recordName: "r\($0)", fieldName: "f") }
            let _: UploadTokensResponse = try await fixture.call(
                .uploadAssets,
                UploadRequest(places: places, zoneID: WireZoneID("z")))
        }
        for _ in 0..<5 { try await giveOut() }
        #expect(try rows(.upload) == 1_000)
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        for _ in 0..<3 { try await giveOut() }
        #expect(try rows(.upload) == 600)
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        // A write that adds none removes some all the same.
        for _ in 0..<20 { try await write() }
        #expect(try rows(.upload) == 0)
    }

    @Test("a session that ended asks to sign in, and is forgotten in the end")
    func sessions() async throws {
        func status() async -> Int {
            await fixture.send(.listZones, as: fixture.ada, body: []).status
        }
        #expect(await status() == 200)
        fixture.advance(milliseconds: HubLimits().sessionMilliseconds)
        #expect(await status() == 421)
        let again = try await fixture.hub.accounts.signIn(
            "Ada", container: HubFixture.container, environment: "development")
        #expect(again.userRecordName == fixture.ada.userRecordName)
        let tokens = try rows(.webToken)
        fixture.advance(milliseconds: HubLimits().endedSessionMilliseconds)
        _ = try await fixture.hub.accounts.signIn(
            "Ada", container: HubFixture.container, environment: "development")
        // One more, and Ada's and Bob's first ones gone.
        #expect(try rows(.webToken) == tokens - 1)
        #expect(await status() == 401)
    }

    @Test("what is due in a database that nobody writes to goes with writes to others")
    func idleDatabase() async throws {
        try fixture.hub.beginServing()
        try await eventually { fixture.hub.storage.cleansUp }
        let asset = try await upload()
        #expect(try isThere && asset.receipt != nil)
        let records = (0..<150).map { WireRecordOperation(.create, HubFixture.record("r\($0)")) }
        for _ in 0..<2 {
            let request = ModifyRecordsRequest(operations: records, zoneID: WireZoneID("z"))
            let _: RecordsResponse = try await fixture.call(.modifyRecords, request)
        }
        let zone = ModifyZonesRequest(operations: [.init(.delete, WireZoneID("z"))])
        let _: ZonesResponse = try await fixture.call(.modifyZones, zone)
        let partition = try fixture.partition(of: fixture.ada)
        func left(_ tables: HubKey.Table...) throws -> Int {
            try fixture.hub.storage.readHere { transaction in
                try tables.reduce(0) { sum, table in
                    try sum + transaction.size(of: HubKey(partition, table))
                }
            }
        }
        #expect(try left(.record, .feed, .type, .endedZone) > 150)
        fixture.advance(milliseconds: 24 * 3_600_000)
        for number in 0..<400 {
            let request = ModifyRecordsRequest(
                operations: [.init(.forceUpdate, HubFixture.record("b\(number % 3)"))])
            let reply: RecordsResponse = try await fixture.call(
                .modifyRecords, request, as: fixture.bob)
            try #require(reply.records.compactMap(\.code) == [])
        }
        #expect(try left(.record, .feed, .type, .endedZone, .upload, .asset) == 0)
        // That of the deleted zone's row.
        #expect(try left(.expiry) == 1)
        #expect(try !isThere)
    }
}

extension HubReading {
    /// How many entries a prefix has.
    fileprivate func size(of prefix: HubKey) throws -> Int {
        var count = 0
        try scan(prefix, from: nil) { _, _ in
            count += 1
            return true
        }
        return count
    }
}
