import BackstitchCore
import BackstitchTesting
import CloudKitWire
import Foundation
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What clients of a kept hub have in hand, and folders of other formats.
@Suite(.budgeted) struct KeptHubTests {
    /// A copy of the kept hub, with what its clients have in hand.
    private struct Kept {
        let copy: PastTests.Copy
        var folder: String { copy.path + "/hub" }

        init() throws { copy = try PastTests.Copy(of: PastTests.versions[0], inMemory: true) }

        func traffic() throws -> PastTraffic {
            try JSONDecoder().decode(
                PastTraffic.self,
                from: Data(contentsOf: URL(fileURLWithPath: copy.path + "/traffic.json")))
        }

        /// Opens the hub some minutes after it was kept.
        func open() async throws -> PastHub {
            try await PastHub(at: folder, milliseconds: PastWriter.milliseconds + 5 * 60_000)
        }
    }

    private static func page(
        _ past: PastHub, _ zone: String, after token: String?, _ api: String, _ user: String
    ) async throws -> WireItem<ZoneFeedPage> {
        let reply: ZoneChangesResponse = try await past.call(
            .zoneChanges,
            ZoneChangesRequest(
                zones: [ZoneFeedRequest(zoneID: WireZoneID(zone), syncToken: token)]), api, user)
        return reply.zones[0]
    }

    // MARK: What clients have in hand

    @Test func `change tokens go on where they stood, and are good for nothing else`() async throws
    {
        let kept = try Kept()
        let (traffic, credentials) = (try kept.traffic(), try kept.copy.credentials())
        let (api, ada, bob) = (credentials.apiToken, credentials.ada, credentials.bob)
        let past = try await kept.open()
        defer { past.hub.close() }
        let page = try await Self.page(past, "B", after: traffic.zoneToken, api, bob).value
        #expect(
            page?.records.compactMap(\.value?.recordName)
                == ["follower", "guard", "child", "once"])
        let next = try #require(page?.syncToken)
        #expect(
            try await Self.page(past, "B", after: next, api, bob).value?.records.isEmpty == true)
        let zones: ZonesResponse = try await past.call(
            .databaseChanges, DatabaseChangesRequest(syncToken: traffic.databaseToken), api, bob)
        #expect(zones.zones.compactMap(\.value?.zoneID.zoneName) == ["B"])
        // Of others, also of zones that are made from now on.
        let _: ZonesResponse = try await past.call(
            .modifyZones, ModifyZonesRequest(operations: [.init(.create, WireZoneID("new"))]), api,
            ada)
        for (zone, token) in [
            ("A", traffic.zoneToken), ("new", traffic.zoneToken), ("new", next),
        ] {
            let code = try await Self.page(past, zone, after: token, api, ada).code
            #expect(code == "ZONE_NOT_FOUND", "\(zone)")
        }
        await #expect(throws: WireError.self) {
            let _: ZonesResponse = try await past.call(
                .databaseChanges, DatabaseChangesRequest(syncToken: traffic.databaseToken), api, ada
            )
        }
    }

    @Test func `requests that come again get their first answers, and act once`() async throws {
        let kept = try Kept()
        let (traffic, credentials) = (try kept.traffic(), try kept.copy.credentials())
        let past = try await kept.open()
        defer { past.hub.close() }
        for exchange in [traffic.named, traffic.signed] {
            let response = await past.hub.respond(to: exchange.request)
            guard case .bytes(let body) = response.body else { continue }
            #expect(response.status == 200)
            #expect(String(decoding: body, as: UTF8.self) == exchange.answer)
        }
        let page = try await Self.page(
            past, "B", after: nil, credentials.apiToken, credentials.bob
        ).value
        #expect(page?.records.count { $0.value?.recordName == "once" } == 1)
    }

    @Test func `a file that two users hold is each one's own, and receipts are good`() async throws
    {
        let kept = try Kept()
        let credentials = try kept.copy.credentials()
        let (api, ada, bob) = (credentials.apiToken, credentials.ada, credentials.bob)
        let past = try await kept.open()
        defer { past.hub.close() }
        let names = try FileManager.default.contentsOfDirectory(atPath: kept.folder + "/assets")
        #expect(names.allSatisfy { $0.count < 64 })
        let gone: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [.init(.forceDelete, WireRecord(recordName: "photo"))],
                zoneID: WireZoneID("B")), api, bob)
        #expect(gone.records.compactMap(\.code) == [])
        past.time.withLock { $0 += 3 * 3_600_000 }
        let _: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [.init(.create, HubFixture.record("other"))], zoneID: WireZoneID("B")),
            api, bob)
        #expect(try Self.files(kept).values.sorted() == ["a picture of Bob's", "not held yet"])
        past.time.withLock { $0 -= 3 * 3_600_000 }
        let receipt = try String(contentsOfFile: kept.copy.path + "/receipt", encoding: .utf8)
        let file = ServiceAsset(
            fileChecksum: "29f3815bff41f28e7fa4a67375234ad4e45733ff81f41224a0da4d7f56fcfe83",
            size: 12, receipt: receipt)
        let held: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [.init(.create, HubFixture.record("later", ["image": .asset(file)]))],
                zoneID: WireZoneID("A")), api, ada)
        #expect(held.records.compactMap(\.code) == [])
        for name in ["photo", "later"] {
            let found: RecordsResponse = try await past.call(
                .lookupRecords,
                LookupRecordsRequest(
                    records: [.init(recordName: name)], zoneID: WireZoneID("A")), api, ada)
            guard case .asset(let asset)? = found.records[0].value?.fields["image"]?.value else {
                Issue.record("There is no file.")
                continue
            }
            let path = HostileWorld.path(asset.downloadURL ?? "")
            let reply = await past.hub.respond(to: HubRequest(method: "GET", target: path))
            #expect(reply.status == 200)
        }
        #expect(try past.hub.storage.readNow { try $0.wrongSpace() } == [])
    }

    /// The files of a hub's folder: their contents by their paths.
    private static func files(_ kept: Kept) throws -> [String: String] {
        let assets = kept.folder + "/assets"
        var files: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: assets) {
            files[path] = try? String(contentsOfFile: assets + "/" + path, encoding: .utf8)
        }
        return files
    }

    @Test func `references act, and space is counted`() async throws {
        let kept = try Kept()
        #expect(try Hub.diagnose(at: kept.folder).findings == [])
        let credentials = try kept.copy.credentials()
        let past = try await kept.open()
        defer { past.hub.close() }
        let deleted: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: ["r0", "r1"].map { .init(.forceDelete, WireRecord(recordName: $0)) },
                zoneID: WireZoneID("B"), isAtomic: false), credentials.apiToken, credentials.bob)
        #expect(deleted.records.map(\.code) == [nil, "VALIDATING_REFERENCE_ERROR"])
        let page = try await Self.page(
            past, "B", after: nil, credentials.apiToken, credentials.bob
        ).value
        let ended = page?.records.compactMap(\.value).filter(\.isDeleted).map(\.recordName)
        #expect(Set(ended ?? []) == ["r0", "r4", "follower"])
    }

    // MARK: What is refused

    @Test(arguments: [
        (#"{"format":2}"#, "has format 2"), (#"{"version":4}"#, "was never released"),
    ])
    func `a hub of another format is refused, and stays what it is`(
        row: String, text: String
    ) async throws {
        let kept = try Kept()
        try Self.setFormat(row, in: kept.folder)
        let failure = await #expect(throws: HubError.self) { try await Hub(at: kept.folder) }
        #expect(failure?.code == .wrongFormat && failure?.message.contains(text) == true)
        #expect(throws: HubError.self) { try Hub.diagnose(at: kept.folder) }
        #expect(throws: HubError.self) { try HubFolder(kept.folder).check(hasBucket: true) }
        #expect(Hub.isHub(at: kept.folder))
        let stored = try EnvironmentFiles(at: kept.folder).peek(
            options: EnvironmentOptions(databases: ["hub"]), database: "hub", key: "\u{1}")
        #expect(stored.map { String(decoding: $0, as: UTF8.self) } == row)
    }

    /// Sets the row of the format, as another program might.
    static func setFormat(_ text: String, in folder: String) throws {
        var options = EnvironmentOptions(databases: ["hub"])
        options.createsIfMissing = false
        let environment = try Environment.open(at: folder, options: options)
        defer { environment.close() }
        let database = try environment.database("hub")
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                try [UInt8(1)].withUnsafeBytes { key in
                    try Array(text.utf8).withUnsafeBytes {
                        try transaction.access.put(key, $0, in: database)
                    }
                }
            }
        }
    }
}
