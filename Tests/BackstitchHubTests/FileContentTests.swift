import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

/// A hub keeps files as they were sent, and seals nothing.
@Suite(.budgeted) struct FileContentTests {
    @Test(arguments: StorageEngine.served)
    func `a file lies in the folder and is given out as it was sent, and no key comes with it`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await HubFixture(storage: engine.storage(.patient))
        try await fixture.makeZones("z")
        let content = Array("Whoever reads the disk reads this.".utf8)
        let uploads: UploadTokensResponse = try await fixture.call(
            .uploadAssets,
            UploadRequest(
                places: [WireAssetPlace(recordName: "a", fieldName: "f")], zoneID: WireZoneID("z")))
        let upload = HostileWorld.path(try #require(uploads.tokens.first).url)
        let kept = await fixture.hub.respond(
            to: HubRequest(method: "POST", target: upload, body: content))
        var sent = try UploadedFileResponse(body: kept.body.content).file
        // As a client sends it that has it from the live service.
        (sent.wrappingKey, sent.referenceChecksum) = ("AAAAAAAAAAAAAAAAAAAAAA==", "AAAA")
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["f": .asset(sent)])))
        #expect(saved.map(\.code) == [nil])

        let lookup = LookupRecordsRequest(
            records: [.init(recordName: "a")], zoneID: WireZoneID("z"))
        let (_, body) = await fixture.send(
            .lookupRecords, as: fixture.ada, body: lookup.body())
        let text = String(decoding: body, as: UTF8.self)
        #expect(!text.contains("wrappingKey") && !text.contains("referenceChecksum"), "\(text)")
        let found = try RecordsResponse(body: body).records.first?.value?.fields["f"]?.value
        guard case .asset(let asset)? = found else {
            Issue.record("The record has no file: \(text)")
            return
        }
        let checksum = Digest.sha256(content).hexadecimal
        #expect(asset.fileChecksum == checksum && asset.size == Int64(content.count))
        let download = HostileWorld.path(try #require(asset.downloadURL))
        let answer = await fixture.hub.respond(to: HubRequest(method: "GET", target: download))
        #expect(answer.status == 200 && answer.body.content == content)
        let partition = try fixture.partition(of: fixture.ada)
        let file = try #require(HubFile(partition, checksum))
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: fixture.hub.assets.path(file)))
                == Data(content))
    }
}
