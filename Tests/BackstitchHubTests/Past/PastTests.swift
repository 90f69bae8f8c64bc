import BackstitchCore
import Backstitch
import BackstitchSync
import BackstitchTesting
import BackstitchViews
import CloudKitWire
import Foundation
import LMDB
import Threading
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// A store and the hub that it belongs to, as the first version with a format left them: this version
/// opens both, finds everything, and goes on with both.
@Suite("A store and a hub that are kept", .budgeted)
struct PastTests {
    static let versions = ["format-1"]

    static let fixtures = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures").path
    private static let newVersion = ProcessInfo.processInfo.environment["BACKSTITCH_FIXTURE"]

    private let clock = ManualClock(milliseconds: PastWriter.milliseconds + 3_600_000)

    @Test("write a store and a hub to be kept", .enabled(if: newVersion != nil))
    func write() async throws {
        let path = Self.fixtures + "/" + (Self.newVersion ?? "")
        #expect(!FileManager.default.fileExists(atPath: path), "It never changes.")
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try await PastWriter(folder: path + "-open").write(to: path)
        let copy = try Copy(of: Self.newVersion ?? "")
        let store = try Store.open(existing: copy.path + "/store")
        var lines = Data()
        try store.export { lines.append(contentsOf: $0) }
        try lines.write(to: URL(fileURLWithPath: path + "/records.jsonl"))
        store.close()
        try Self.expectWaitingCommits(path)
    }

    /// Both were kept as a kill leaves them: the last commits are in the journals alone.
    private static func expectWaitingCommits(_ path: String) throws {
        let rows = DatabaseFamily(prefix: "rows.", countMax: 5_000)
        let store = try EnvironmentFiles(at: path + "/store").inspect(
            names: ["log", "tables", "meta"], family: rows
        ) { _ in }
        let hub = try EnvironmentFiles(at: path + "/hub").inspect(names: ["hub"]) { _ in }
        #expect(store.isSound && store.hasWaitingRecords)
        #expect(hub.isSound && hub.hasWaitingRecords)
    }

    /// A copy of what was kept, which goes at the end of the test.
    final class Copy {
        let path: String

        /// - Parameter inMemory: Where syncing costs nothing, if the system has such a folder.
        init(of version: String, inMemory: Bool = false) throws {
            let memory = "/dev/shm"
            let parent =
                inMemory && FileManager.default.isWritableFile(atPath: memory)
                ? memory : FileManager.default.temporaryDirectory.path
            path = parent + "/past-\(UUID().uuidString)"
            try FileManager.default.copyItem(
                atPath: PastTests.fixtures + "/" + version, toPath: path)
            try FileManager.default.createDirectory(
                atPath: path + "/hub/assets/incoming", withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func credentials() throws -> PastHub.Credentials {
            try JSONDecoder().decode(
                PastHub.Credentials.self,
                from: Data(contentsOf: URL(fileURLWithPath: path + "/credentials.json")))
        }
    }

    private func open(
        _ copy: Copy, _ schema: StoreSchema = PastApp.second,
        _ projections: [any RecordProjection] = PastApp.projections
    ) throws -> Store {
        let clock = clock
        return try Store(
            at: copy.path + "/store", schema: schema,
            configuration: StoreConfiguration(
                durability: .relaxed, projections: projections,
                clock: clock))
    }

    @Test(
        "records are as they were exported, and the tables follow from the log", arguments: versions
    )
    func records(version: String) async throws {
        let copy = try Copy(of: version)
        try Self.expectWaitingCommits(copy.path)
        let store = try open(copy)
        defer { store.close() }
        var lines = Data()
        try store.export { lines.append(contentsOf: $0) }
        let kept = try Data(contentsOf: URL(fileURLWithPath: copy.path + "/records.jsonl"))
        #expect(String(decoding: lines, as: UTF8.self) == String(decoding: kept, as: UTF8.self))
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
    }

    @Test(
        "what waits, is parked, in conflict, evicted, ended or unknown is told", arguments: versions
    )
    func states(version: String) async throws {
        let copy = try Copy(of: version)
        let store = try open(copy)
        defer { store.close() }
        try store.read { tx in
            #expect(try tx.find(SecondNote.self, "n9") == PastWriter.full)
            #expect(try tx.find(SecondNote.self, "n3")?.headline == "laptop's")
            #expect(try tx.find(SecondNote.self, "n4")?.headline == "edited and pending")
            for gone in ["n1", "n5", "n6"] {
                #expect(try tx.find(SecondNote.self, SecondNote.ID(gone)) == nil, "\(gone)")
            }
            let states: [(String, String, DynamicRecord.State)] = [
                ("Note", "n2", .synced), ("Note", "n4", .dirty), ("Gate", "g1", .parked),
            ]
            for (entity, name, state) in states {
                #expect(try tx.record(name, of: entity)?.state == state, "\(name)")
            }
            let moody = try tx.record("n2", of: "Note")?.values
            #expect(moody?["mood"] == .string("fine"))
            #expect(moody?["moods"] == .list([.int64(1), .int64(2), .int64(3)]))
            #expect(
                try tx.record("s1", of: "Sticker")?.values["picture"] == .bytes(Data([1, 2, 3])))
            let conflict = try #require(try tx.conflicts(limit: 9).first)
            #expect(conflict.local?["headline"] == .string("phone's"))
            let busy = Query<SecondNote>().where(#Predicate { $0.rank > 6 })
            #expect(try tx.fetch(busy).map(\.id).sorted() == ["n7", "n8"])
            #expect(try tx.fetch(Query<SecondFolder>()).count == 3)
        }
        try await store.prepareProjections()
        try store.read { tx in
            let total = try tx.view(of: PastApp.totals).totals(of: SecondFolder.ID("f1"))
            #expect(total?.count == 5 && total?.sum == 24)
            let found = try tx.view(of: PastApp.search).records("edited", of: SecondNote.self)
            #expect(found.map(\.id) == ["n4"])
        }
    }

    @Test(
        "the next version of the application finds the values that were unknown",
        arguments: versions)
    func upgraded(version: String) async throws {
        let copy = try Copy(of: version)
        let store = try open(copy, PastApp.ahead, [])
        defer { store.close() }
        try await store.prepareIndexes()
        let (note, sticker) = try store.read {
            (try $0.find(AheadNote.self, "n2"), try $0.find(AheadSticker.self, "s1"))
        }
        #expect(note?.mood == "fine" && note?.moods == [1, 2, 3])
        #expect(sticker?.place == GeoLocation(latitude: 48.5, longitude: 9.25))
    }

    @Test("store and hub go on together, and another device gets the same", arguments: versions)
    func exchange(version: String) async throws {
        let copy = try Copy(of: version)
        let credentials = try copy.credentials()
        let past = try await PastHub(at: copy.path + "/hub", milliseconds: clock.milliseconds)
        defer { past.hub.close() }
        let service = try past.service(credentials.apiToken, credentials.ada)
        let store = try open(copy)
        defer { store.close() }
        let engine = SyncEngine.past(store, service, clock)
        let before = try engine.pending()
        #expect(before.pendingRecords == 4 && before.parkedRecords == 1)
        let report = try await engine.sync()
        #expect(report.conflicts == 0 && report.pushedRecords == 4)
        #expect(try await engine.fetchAgain([SecondNote.ID("n1")]) == 1)
        #expect(try engine.pending().pendingRecords == 0)
        #expect(try store.verify().problems == [])

        let fresh = try Store.inMemory(schema: PastApp.second)
        defer { fresh.close() }
        try await SyncEngine.past(fresh, service, clock).sync()
        let order = Query<SecondNote>()
        let here = try store.read { try $0.fetch(order) }
            .filter { $0.id != "local" }
            .map { note in
                var note = note
                note.secret = nil
                return note
            }
        let there = try fresh.read { try $0.fetch(order) }
        #expect(here.sorted { "\($0.id)" < "\($1.id)" } == there.sorted { "\($0.id)" < "\($1.id)" })
        #expect(there.count == 7)
        #expect(
            try fresh.read { try $0.record("n2", of: "Note") }?.values["mood"] == .string("fine"))
    }

    @Test(
        "a hub has all users' records, files, tombstones, subscriptions and couriers",
        arguments: versions)
    func hub(version: String) async throws {
        let copy = try Copy(of: version)
        let credentials = try copy.credentials()
        let (api, bob) = (credentials.apiToken, credentials.bob)
        let past = try await PastHub(at: copy.path + "/hub", milliseconds: clock.milliseconds)
        defer { past.hub.close() }
        let feed: ZoneChangesResponse = try await past.call(
            .zoneChanges, ZoneChangesRequest(zones: [ZoneFeedRequest(zoneID: WireZoneID("B"))]),
            api,
            bob)
        guard case .value(let page)? = feed.zones.first else {
            Issue.record("There is no zone B.")
            return
        }
        #expect(
            page.records.compactMap(\.value).map(\.recordName).prefix(6)
                == ["photo", "r0", "r1", "r2", "r3", "r4"])
        let photo = page.records.compactMap(\.value).first { $0.recordName == "photo" }
        guard case .asset(let asset)? = photo?.fields["image"]?.value,
            let address = asset.downloadURL
        else {
            Issue.record("The photo is missing.")
            return
        }
        let file = await past.hub.respond(
            to: HubRequest(method: "GET", target: HostileWorld.path(address)))
        guard case .file(let path) = file.body else {
            Issue.record("The file is missing: \(file.status)")
            return
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("a picture of Bob's".utf8))
        let shown: RecordsResponse = try await past.call(
            .lookupRecords, in: .public,
            LookupRecordsRequest(records: [.init(recordName: "shown")]), api, bob)
        #expect(shown.records.first?.value?.fields["s"]?.value == .string("all"))
        let list: SubscriptionsResponse = try await past.call(
            .listSubscriptions, EmptyResponse(), api, bob)
        #expect(
            list.subscriptions.compactMap(\.value).map(\.subscriptionID) == ["all-of-B", "ones"])
        let zones: ZonesResponse = try await past.call(.listZones, EmptyResponse(), api, bob)
        #expect(zones.zones.compactMap(\.value).map(\.zoneID.zoneName).sorted().contains("B"))
        #expect(!zones.zones.compactMap(\.value).map(\.zoneID.zoneName).contains("Gone"))
        try await expectCourier(past, copy, credentials)
    }

    /// A change reaches the courier that was registered before.
    private func expectCourier(
        _ past: PastHub, _ copy: Copy, _ credentials: PastHub.Credentials
    ) async throws {
        let text = try Data(contentsOf: URL(fileURLWithPath: copy.path + "/courier.json"))
        let object = try JSONDecoder().decode([String: String].self, from: text)
        let address = try #require(object["webcourierURL"])
        // Who listens is told: a hub that was opened knows of nobody before they ask.
        let hasEnded = Locked(false)
        async let polled = {
            let response = await past.hub.respond(
                to: HubRequest(method: "GET", target: HostileWorld.path(address)))
            hasEnded.withLock { $0 = true }
            return response
        }()
        while past.hub.mailboxes.waiterCount == 0, !hasEnded.withLock({ $0 }) {
            await Task.yield()
        }
        let _: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [.init(.create, HubFixture.record("new"))], zoneID: WireZoneID("B")),
            credentials.apiToken, credentials.bob)
        let response = await polled
        #expect(response.status == 200)
        guard case .bytes(let body) = response.body else { return }
        #expect(try JSONObject(body: body).requiredObject("ck").object("fet")?.text("zid") == "B")
    }
}
