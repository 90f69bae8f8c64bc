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

/// A hub of format 1 becomes one of format 2, or stays what it is.
@Suite("The migration of a hub from format 1", .budgeted) struct MigrationTests {
    /// A copy of the kept hub, with what its clients have in hand.
    private struct Kept {
        let copy: PastTests.Copy
        var folder: String { copy.path + "/hub" }

        /// Of e30d4f9, from when hubs had format 1, by its program over HTTP.
        static let oldest = "hub-e30d4f9"

        init(_ version: String = "format-1-hub") throws {
            copy = try PastTests.Copy(of: version, inMemory: true)
        }

        func traffic() throws -> PastTraffic {
            try JSONDecoder().decode(
                PastTraffic.self,
                from: Data(contentsOf: URL(fileURLWithPath: copy.path + "/traffic.json")))
        }

        /// Opens the hub some minutes after it was kept.
        func open(minutes: Int64 = 5) async throws -> PastHub {
            let kept = (try? traffic())?.milliseconds ?? PastWriter.milliseconds
            return try await PastHub(at: folder, milliseconds: kept + minutes * 60_000)
        }
    }

    private func migrated() async throws -> Kept {
        let kept = try Kept()
        let report = try #require(try await Hub.migrate(at: kept.folder))
        #expect(report.databases == 3 && report.files == 3 && report.missingFiles == 0)
        return kept
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
        let kept = try await migrated()
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
        for (zone, token, code) in [
            ("A", traffic.zoneToken, "BAD_REQUEST"), ("new", traffic.zoneToken, "BAD_REQUEST"),
            ("new", next, "ZONE_NOT_FOUND"),
        ] {
            #expect(try await Self.page(past, zone, after: token, api, ada).code == code, "\(zone)")
        }
        await #expect(throws: WireError.self) {
            let _: ZonesResponse = try await past.call(
                .databaseChanges, DatabaseChangesRequest(syncToken: traffic.databaseToken), api, ada
            )
        }
    }

    @Test func `requests that come again get their first answers, and act once`() async throws {
        let kept = try await migrated()
        let (traffic, credentials) = (try kept.traffic(), try kept.copy.credentials())
        let past = try await kept.open()
        defer { past.hub.close() }
        for exchange in [traffic.named, try #require(traffic.signed)] {
            let response = await past.hub.respond(to: exchange.request)
            guard case .bytes(let body) = response.body else { continue }
            #expect(response.status == 200)
            #expect(String(decoding: body, as: UTF8.self) == exchange.answer)
        }
        let page = try await Self.page(
            past, "B", after: nil, credentials.apiToken, credentials.bob
        ).value
        #expect(page?.records.count { $0.value?.recordName == "once" } == 1)
        // The answers that format 1 kept go when the hub is opened after their time.
        past.hub.close()
        for (minutes, count) in [(5, 4...), (60, 0...0)] as [(Int64, any RangeExpression<Int>)] {
            let later = try await kept.open(minutes: minutes)
            let left = try later.hub.storage.readNow {
                try $0.count(.ledger, .signature, .ledgerTime)
            }
            #expect(count.contains(left), "\(minutes)")
            later.hub.close()
        }
    }

    @Test func `a file that two users hold is each one's own, and receipts are good`() async throws
    {
        let kept = try await migrated()
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
        for version in ["format-1", "format-1-hub", Kept.oldest] {
            let kept = try Kept(version)
            _ = try await Hub.migrate(at: kept.folder)
            let past = try await kept.open()
            defer { past.hub.close() }
            #expect(try past.hub.storage.readNow { try $0.wrongSpace() } == [], "\(version)")
            past.hub.close()
            #expect(try Hub.diagnose(at: kept.folder).findings == [], "\(version)")
        }
        let kept = try await migrated()
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

    @Test func `a hub of the oldest program goes on with tokens, answers, files and references`()
        async throws
    {
        let kept = try Kept(Kept.oldest)
        let report = try await Hub.migrate(at: kept.folder)
        #expect(report?.databases == 3 && report?.files == 2 && report?.missingFiles == 0)
        let (traffic, credentials) = (try kept.traffic(), try kept.copy.credentials())
        let (api, ada, bob) = (credentials.apiToken, credentials.ada, credentials.bob)
        let past = try await kept.open()
        defer { past.hub.close() }
        let again = await past.hub.respond(to: traffic.named.request)
        guard case .bytes(let body) = again.body else { return }
        #expect(String(decoding: body, as: UTF8.self) == traffic.named.answer)
        let page = try await Self.page(past, "B", after: traffic.zoneToken, api, bob).value
        #expect(
            page?.records.compactMap(\.value).map { $0.isDeleted ? "-" : $0.recordName ?? "" }
                == ["follower", "guard", "child", "-", "once"])
        let zones: ZonesResponse = try await past.call(
            .databaseChanges, DatabaseChangesRequest(syncToken: traffic.databaseToken), api, bob)
        #expect(
            Set(zones.zones.compactMap(\.value).map { "\($0.zoneID.zoneName) \($0.isDeleted)" })
                == ["B false", "Gone true"])
        for (user, zone) in [(ada, "B"), (bob, "B")] {
            let found: RecordsResponse = try await past.call(
                .lookupRecords,
                LookupRecordsRequest(
                    records: [.init(recordName: "photo")], zoneID: WireZoneID(zone)), api, user)
            guard case .asset(let asset)? = found.records[0].value?.fields["f"]?.value else {
                Issue.record("There is no file.")
                continue
            }
            let path = HostileWorld.path(asset.downloadURL ?? "")
            let reply = await past.hub.respond(to: HubRequest(method: "GET", target: path))
            #expect(reply.status == 200)
        }
        let deleted: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: ["r0", "r1"].map { .init(.forceDelete, WireRecord(recordName: $0)) },
                zoneID: WireZoneID("B"), isAtomic: false), api, bob)
        #expect(deleted.records.map(\.code) == [nil, "VALIDATING_REFERENCE_ERROR"])
        let list: SubscriptionsResponse = try await past.call(
            .listSubscriptions, EmptyResponse(), api, ada)
        #expect(list.subscriptions.compactMap(\.value).map(\.subscriptionID) == ["zone"])
    }

    // MARK: What is refused

    @Test func `programs of either format refuse a hub of the other, and change nothing`()
        async throws
    {
        let kept = try Kept()
        let data = try Data(contentsOf: URL(fileURLWithPath: kept.folder + "/data.mdb"))
        let failure = await #expect(throws: HubError.self) { try await Hub(at: kept.folder) }
        #expect(failure?.message.contains("backstitch hub migrate --data \(kept.folder)") == true)
        #expect(throws: HubError.self) { try Hub.diagnose(at: kept.folder) }
        #expect(Hub.isHub(at: kept.folder))
        #expect(try Data(contentsOf: URL(fileURLWithPath: kept.folder + "/data.mdb")) == data)
        #expect(try await Hub.migrate(at: kept.folder) != nil)
        #expect(try await Hub.migrate(at: kept.folder) == nil)
        // What a program of format 1 reads as the hub's state, whose version it compares.
        let storage = try LMDBHubStorage(at: kept.folder)
        let row = try storage.readNow {
            try $0.value(withUnsafeBytes(of: UInt8(1)) { HubKey(bytes: $0) })
        }
        #expect(row.map { String(decoding: $0, as: UTF8.self) } == #"{"version":4}"#)
        storage.close()
        try Self.write("{\"version\":5}", in: kept.folder)
        let newer = await #expect(throws: HubError.self) { try await Hub(at: kept.folder) }
        #expect(newer?.message.contains("format 5") == true)
        await #expect(throws: HubError.self) { try await Hub.migrate(at: kept.folder) }
    }

    /// A hub of format 2, or of 3, which has the same rows.
    private static func kept(format: Int) throws -> Kept {
        let kept = try Kept("format-1-hub-2")
        if format != 2 { try write("{\"version\":\(format)}", in: kept.folder) }
        return kept
    }

    @Test(arguments: [2, 3])
    func `a hub of an older format becomes one of this format, and nothing else of it changes`(
        format: Int
    ) throws {
        let kept = try Self.kept(format: format)
        var entries = try Self.entries(kept.folder)
        #expect(
            entries[[1]].map { String(decoding: $0, as: UTF8.self) } == "{\"version\":\(format)}")
        try LMDBHubStorage(at: kept.folder).close()
        // Programs of that format compare this, and refuse what is not theirs.
        entries[[1]] = Array(#"{"version":4}"#.utf8)
        #expect(try Self.entries(kept.folder) == entries)
        #expect(try Hub.diagnose(at: kept.folder).findings == [])
    }

    @Test(arguments: [2, 3])
    func `a hub of an older format that another process has open stays what it is`(
        format: Int
    ) async throws {
        let kept = try Self.kept(format: format)
        let older = try Environment.open(
            at: kept.folder, options: EnvironmentOptions(databases: ["hub"]))
        await #expect(processExitsWith: .success) { [path = kept.folder as String] in
            let error = #expect(throws: LMDBError.self) { try LMDBHubStorage(at: path) }
            #expect(error?.code == .busy)
        }
        older.close()
        let row = try Self.entries(kept.folder)[[1]]
        #expect(row.map { String(decoding: $0, as: UTF8.self) } == "{\"version\":\(format)}")
    }

    /// Sets the row of the format, as another process might.
    private static func write(_ text: String, in folder: String) throws {
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

    @Test func `a hub that is served, or written to meanwhile, is not migrated`() async throws {
        let kept = try Kept()
        let serving = try ServingLock(directory: kept.folder)
        let failure = await #expect(throws: HubError.self) {
            try await Hub.migrate(at: kept.folder)
        }
        #expect(failure?.message.contains("Another hub serves") == true)
        withExtendedLifetime(serving) {}
        let other = try Kept()
        let state = try Self.entries(other.folder)[[1]] ?? []
        let busy = await #expect(throws: LMDBError.self) {
            try await FolderMigration(directory: other.folder).run { progress in
                guard progress.stage == .checked else { return }
                try Self.write(String(decoding: state, as: UTF8.self), in: other.folder)
            }
        }
        #expect(busy?.message.contains("Try again") == true)
        #expect(try await Hub.migrate(at: other.folder) != nil)
        await #expect(throws: HubError.self) {
            try await Hub.migrate(at: other.copy.path + "/nothing")
        }
    }

    /// All that a folder's data file has, of any format.
    private static func entries(_ folder: String) throws -> [[UInt8]: [UInt8]] {
        let storage = try LMDBHubStorage.format1(at: folder)
        defer { storage.close() }
        var entries: [[UInt8]: [UInt8]] = [:]
        try storage.readNow { transaction in
            for first in UInt8.min...UInt8.max {
                let prefix = withUnsafeBytes(of: first) { HubKey(bytes: $0) }
                try transaction.scan(prefix, from: nil) { key, value in
                    entries[Array(key)] = Array(value)
                    return true
                }
            }
        }
        return entries
    }

    @Test func `a record of no zone, or a damaged one, is told, and all stays as it is`()
        async throws
    {
        let kept = try Kept()
        let entries = try Self.entries(kept.folder)
        let record = try #require(entries.keys.first { $0[0] == HubKey.Table.record.rawValue })
        var orphan = entries
        orphan[[0x10, 0, 0, 0x7F, 0, 0x61]] = entries[record]
        var damaged = entries
        damaged[record] = [1, 2, 3]
        var nameless = entries
        for key in entries.keys where key[0] == HubKey.Table.databaseName.rawValue {
            nameless[key] = nil
        }
        for entries in [orphan, damaged, nameless, [:]] {
            var migration = HubMigration(
                from: MemoryHubStorage(entries), to: MemoryHubStorage(), adopt: { _ in true }
            ) { _ in }
            await #expect(throws: HubError.self) { try await migration.run() }
        }
    }

    @Test
    func `what a hub of an older version did not count is counted, and is the same in memory`()
        async throws
    {
        let (kept, before) = (try await migrated(), try Kept())
        var entries = try Self.entries(before.folder)
        for (key, value) in entries where key[0] == 0x07 || key[0] == 0x08 {
            let text = String(decoding: value, as: UTF8.self)
            entries[key] = Array(text.replacing(/,"bytes":\d+/, with: "").utf8)
        }
        let target = MemoryHubStorage()
        var migration = HubMigration(
            from: MemoryHubStorage(entries), to: target, adopt: { _ in true }
        ) { _ in }
        _ = try await migration.run()
        var expected = try Self.entries(kept.folder)
        expected[[1]] = nil
        #expect(target.entries == expected)
    }

    @Test func `however many records there are, no more than a page is in hand`() async throws {
        let kept = try Kept()
        var entries = try Self.entries(kept.folder)
        let record = try #require(entries.first { $0.key[0] == HubKey.Table.record.rawValue })
        for number in 0..<2_500 {
            entries[record.key.prefix(5) + Array("more\(number)".utf8)] = record.value
        }
        let (source, target) = (MemoryHubStorage(entries), MemoryHubStorage())
        var stages: [MigrationProgress] = []
        var migration = HubMigration(from: source, to: target, adopt: { _ in true }) {
            stages.append($0)
        }
        let report = try await migration.run()
        #expect(report.records > 2_500 && report.entries > report.records)
        #expect((500...1_000).contains(target.takeMeter().writesMax))
        #expect(stages.map(\.entries) == stages.map(\.entries).sorted())
        #expect(stages.allSatisfy { $0.entries <= $0.of })
    }

    // MARK: Ended early

    private struct Ended: Error {}

    @Test(arguments: ["format-1", "format-1-hub", Kept.oldest])
    func `ended at any step, the folder is the old one or the new, and the next time finishes`(
        version: String
    ) async throws {
        let whole = try Kept(version)
        var steps: [MigrationProgress.Stage] = []
        _ = try await FolderMigration(directory: whole.folder).run { steps.append($0.stage) }
        let (expected, files) = (try Self.entries(whole.folder), try Self.files(whole))
        #expect(steps.count > 20 && steps.last == .replaced)
        for end in Load.some(of: steps.indices, oneOf: 7) {
            // What a failure leaves, and what a process leaves that is killed.
            let (failed, killed) = (try Kept(version), try Kept(version))
            var step = 0
            do {
                _ = try await FolderMigration(directory: failed.folder).run { _ in
                    defer { step += 1 }
                    guard step == end else { return }
                    try FileManager.default.removeItem(atPath: killed.folder)
                    try FileManager.default.copyItem(
                        atPath: failed.folder, toPath: killed.folder)
                    throw Ended()
                }
                Issue.record("Step \(end) does not end it.")
            } catch is Ended {}
            for kept in [failed, killed] {
                let isNew = steps[end] == .replaced
                if isNew {
                    let past = try await kept.open()
                    try past.hub.beginServing()
                    past.hub.close()
                } else {
                    await #expect(throws: HubError.self) { try await Hub(at: kept.folder) }
                }
                let report = try await Hub.migrate(at: kept.folder)
                #expect((report == nil) == isNew, "step \(end)")
                #expect(try Self.files(kept) == files, "step \(end)")
                let names = try FileManager.default.contentsOfDirectory(atPath: kept.folder)
                #expect(!names.contains("migration"), "step \(end)")
                if !isNew { #expect(try Self.entries(kept.folder) == expected, "step \(end)") }
            }
        }
    }

    @Test func `a cut migration leaves nothing behind when the old program removed a file since`()
        async throws
    {
        let kept = try Kept()
        _ = try? await FolderMigration(directory: kept.folder).run {
            if $0.stage == .checked { throw Ended() }
        }
        let checksum = "0be17025d59e059461436c772f0d83a32101df9f1faabe3a3ccf836d4757272a"
        try FileManager.default.removeItem(atPath: kept.folder + "/assets/" + checksum)
        let report = try await Hub.migrate(at: kept.folder)
        #expect(report?.missingFiles == 2 && report?.files == 3)
        #expect(try Self.files(kept).values.sorted() == ["not held yet"])
        #expect(try !Hub.diagnose(at: kept.folder).isHealthy)
    }
}
